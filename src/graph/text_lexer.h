// Tokens of the textual form; private to text_*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lowwater {

struct Token {
  enum class Kind {
    end,
    word,         // aten::add.Tensor, None, f32, inf
    value,        // %x, %"any name": `text` is the name
    string,       // "...": `text` is unescaped
    integer,      // -12
    real,         // 1.5, 1e-05, -inf
    punctuation,  // one of ( ) [ ] { } , : = @
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1, column = 1;
};

// Reads one token after the other; blanks and comments (# to the end of the
// line) separate them.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  // Throws Error(bad_input) with line and column.
  Token next();

 private:
  [[nodiscard]] bool at_end() const { return position_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[position_]; }
  char advance();
  void skip_blanks();
  std::string read_string(const Token& start);
  void read_number(Token& token);
  char read_escape(const Token& start);

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1, column_ = 1;
};

// Throws Error(bad_input) located at `token`.
[[noreturn]] void syntax_error(const Token& token, const std::string& what);

// One token of look-ahead, and what every rule of the grammar needs.
class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

  [[nodiscard]] const Token& peek() const { return token_; }
  Token take() { return std::exchange(token_, lexer_.next()); }
  [[nodiscard]] bool at(Token::Kind kind) const { return token_.kind == kind; }
  [[nodiscard]] bool at_word(std::string_view word) const {
    return at(Token::Kind::word) && token_.text == word;
  }
  // Takes the token if it is the given one.
  bool accept(std::string_view mark);
  bool accept_word(std::string_view word);
  void expect(std::string_view mark);
  void expect_word(std::string_view word);
  Token expect_kind(Token::Kind kind, const char* what);

  std::int64_t parse_integer();
  std::int32_t parse_index();  // 0 ... 2^31-1
  double parse_real();         // also inf, -inf, nan
  std::vector<std::int64_t> parse_integers(std::string_view close);

  // Calls `item` for each element of a list, separated by commas, up to `close`.
  template <typename Item>
  void list(std::string_view close, Item&& item) {
    if (accept(close)) return;
    do {
      item();
    } while (accept(","));
    expect(close);
  }

 private:
  Lexer lexer_;
  Token token_;  // the next one
};

}  // namespace lowwater
