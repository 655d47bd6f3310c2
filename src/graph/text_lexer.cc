#include "graph/text_lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "graph/text_names.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void syntax_error(const Token& token, const std::string& what) {
  throw Error(ErrorKind::bad_input, what,
              fmt::format("line {}, column {}", token.line, token.column));
}

char Lexer::advance() {
  const char c = text_[position_++];
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  return c;
}

void Lexer::skip_blanks() {
  while (!at_end()) {
    const char c = peek();
    if (c == '#') {
      while (!at_end() && peek() != '\n') advance();
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      advance();
    } else {
      return;
    }
  }
}

char Lexer::read_escape(const Token& start) {
  if (at_end()) syntax_error(start, "the string is not closed");
  const char c = advance();
  if (c == 'n') return '\n';
  if (c == '"' || c == '\\') return c;
  if (c != 'x') syntax_error(start, "unknown escape in the string");
  int code = 0;
  for (int i = 0; i < 2; ++i) {
    const int digit = at_end() ? -1 : hex_digit(advance());
    if (digit < 0) syntax_error(start, "\\x needs two hexadecimal digits");
    code = code * 16 + digit;
  }
  return static_cast<char>(code);
}

std::string Lexer::read_string(const Token& start) {
  advance();  // the opening quote
  std::string out;
  while (!at_end() && peek() != '\n') {
    const char c = advance();
    if (c == '"') return out;
    out += c == '\\' ? read_escape(start) : c;
  }
  syntax_error(start, "the string is not closed");
}

void Lexer::read_number(Token& token) {
  token.kind = Token::Kind::integer;
  if (peek() == '-') token.text += advance();
  if (peek() == 'i') {  // -inf
    while (is_name_char(peek())) token.text += advance();
    if (token.text != "-inf") syntax_error(token, "'" + token.text + "' is not a number");
    token.kind = Token::Kind::real;
    return;
  }
  while (is_digit(peek()) || peek() == '.' || peek() == 'e') {
    const char c = advance();
    token.text += c;
    if (!is_digit(c)) token.kind = Token::Kind::real;
    if (c == 'e' && (peek() == '-' || peek() == '+')) token.text += advance();
  }
  if (is_name_char(peek())) syntax_error(token, "malformed number");
}

Token Lexer::next() {
  skip_blanks();
  Token token;
  token.line = line_;
  token.column = column_;
  const char c = peek();
  if (at_end()) return token;
  if (c == '"') {
    token.kind = Token::Kind::string;
    token.text = read_string(token);
  } else if (c == '%') {
    advance();
    token.kind = Token::Kind::value;
    if (peek() == '"') {
      token.text = read_string(token);
    } else {
      while (is_name_char(peek())) token.text += advance();
    }
    if (token.text.empty()) syntax_error(token, "a value needs a name after '%'");
  } else if (is_digit(c) || c == '-') {
    read_number(token);
  } else if (is_name_char(c)) {
    token.kind = Token::Kind::word;
    while (is_name_char(peek()) || peek() == ':') token.text += advance();
  } else if (std::string_view("()[]{},:=@").find(c) != std::string_view::npos) {
    token.kind = Token::Kind::punctuation;
    token.text = advance();
  } else {
    syntax_error(token, "unexpected character");
  }
  return token;
}

bool TokenReader::accept(std::string_view mark) {
  if (!at(Token::Kind::punctuation) || token_.text != mark) return false;
  take();
  return true;
}

bool TokenReader::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  take();
  return true;
}

void TokenReader::expect(std::string_view mark) {
  if (!accept(mark)) syntax_error(token_, fmt::format("expected '{}'", mark));
}

void TokenReader::expect_word(std::string_view word) {
  if (!accept_word(word)) syntax_error(token_, fmt::format("expected '{}'", word));
}

Token TokenReader::expect_kind(Token::Kind kind, const char* what) {
  if (!at(kind)) syntax_error(token_, fmt::format("expected {}", what));
  return take();
}

namespace {

// The whole token as a number; false if it is none or out of range.
template <typename Number>
bool read_whole(const Token& token, Number& value) {
  const char* end = token.text.data() + token.text.size();
  const auto result = std::from_chars(token.text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::int64_t TokenReader::parse_integer() {
  const Token token = expect_kind(Token::Kind::integer, "an integer");
  std::int64_t value = 0;
  if (!read_whole(token, value))
    syntax_error(token, "'" + token.text + "' is not a 64-bit integer");
  return value;
}

std::int32_t TokenReader::parse_index() {
  const Token token = expect_kind(Token::Kind::integer, "an index");
  std::int32_t value = 0;
  if (!read_whole(token, value) || value < 0) {
    syntax_error(token, "'" + token.text + "' is not an index");
  }
  return value;
}

double TokenReader::parse_real() {
  if (accept_word("inf")) return std::numeric_limits<double>::infinity();
  if (accept_word("nan")) return std::numeric_limits<double>::quiet_NaN();
  const Token token = expect_kind(Token::Kind::real, "a real number");
  if (token.text == "-inf") return -std::numeric_limits<double>::infinity();
  double value = 0;
  if (!read_whole(token, value)) syntax_error(token, "'" + token.text + "' is not a real number");
  return value;
}

std::vector<std::int64_t> TokenReader::parse_integers(std::string_view close) {
  std::vector<std::int64_t> items;
  list(close, [&] { items.push_back(parse_integer()); });
  return items;
}

}  // namespace lowwater
