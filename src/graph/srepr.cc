#include "graph/srepr.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "lowwater/error.h"

namespace lowwater {
namespace {

// Hostile files must not exhaust the stack or the memory.
constexpr int kMaxDepth = 100;
constexpr int kMaxNodes = 10'000;

struct Name {
  std::string_view text;
  Fn fn;
};

// sympy's classes and those of torch/utils/_sympy/functions.py.
constexpr std::array<Name, 44> kFunctions = {{
    {"Add", Fn::add},
    {"Mul", Fn::mul},
    {"Pow", Fn::pow},
    {"PowByNatural", Fn::pow},
    {"FloatPow", Fn::pow},
    {"FloorDiv", Fn::floordiv},
    {"CleanDiv", Fn::floordiv},
    {"CeilDiv", Fn::ceildiv},
    {"FloatTrueDiv", Fn::truediv},
    {"IntTrueDiv", Fn::truediv},
    {"Rational", Fn::truediv},
    {"Mod", Fn::mod},
    {"PythonMod", Fn::mod},
    {"ModularIndexing", Fn::modular_indexing},
    {"Max", Fn::max},
    {"Min", Fn::min},
    {"CeilToInt", Fn::ceil},
    {"ceiling", Fn::ceil},
    {"FloorToInt", Fn::floor},
    {"floor", Fn::floor},
    {"TruncToInt", Fn::trunc},
    {"TruncToFloat", Fn::trunc_to_real},
    {"RoundToInt", Fn::round},
    {"ToFloat", Fn::to_real},
    {"Identity", Fn::identity},
    {"LShift", Fn::lshift},
    {"RShift", Fn::rshift},
    {"sqrt", Fn::sqrt},
    {"OpaqueUnaryFn_sqrt", Fn::sqrt},
    {"Equality", Fn::eq},
    {"Eq", Fn::eq},
    {"Unequality", Fn::ne},
    {"Ne", Fn::ne},
    {"StrictLessThan", Fn::lt},
    {"LessThan", Fn::le},
    {"StrictGreaterThan", Fn::gt},
    {"GreaterThan", Fn::ge},
    {"And", Fn::logical_and},
    {"Or", Fn::logical_or},
    {"Not", Fn::logical_not},
    {"Where", Fn::where},
    {"ITE", Fn::where},
    {"Piecewise", Fn::piecewise},
    {"ExprCondPair", Fn::pair},
}};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A recursive-descent parser: term = name [ '(' item { ',' item } ')' ] where an
// item is a term, a number, a quoted string or an assumption (positive=True).
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expr parse() {
    Expr expr = term(0);
    skip_spaces();
    if (at_ != text_.size()) refuse("text after the end");
    return expr;
  }

 private:
  Expr term(int depth) {
    if (depth > kMaxDepth || ++nodes_ > kMaxNodes) refuse("nested too deeply or too long");
    skip_spaces();
    const std::string_view name = take_name();
    if (name == "true" || name == "True") return {.number = true};
    if (name == "false" || name == "False") return {.number = false};
    expect('(');
    if (name == "Integer" || name == "Float") return number_leaf(name == "Integer");
    if (name == "Symbol") return symbol_leaf();
    return call(name, depth);
  }

  Expr call(std::string_view name, int depth) {
    const auto* row = std::find_if(kFunctions.begin(), kFunctions.end(),
                                   [&](const Name& candidate) { return candidate.text == name; });
    if (row == kFunctions.end()) {
      throw Error(ErrorKind::unsupported,
                  "unknown function '" + std::string(name) + "' in a symbolic size");
    }
    Expr expr{.fn = row->fn};
    skip_spaces();
    while (!take(')')) {
      if (!expr.args.empty()) expect(',');
      expr.args.push_back(name == "Rational" ? rational_part() : term(depth + 1));
      skip_spaces();
    }
    return expr;
  }

  // The numbers in Rational(1, 2) stand bare.
  Expr rational_part() {
    if (++nodes_ > kMaxNodes) refuse("too long");
    return {.number = integer(take_number())};
  }

  // Integer(3), Float('0.5', precision=53)
  Expr number_leaf(bool is_integer) {
    skip_spaces();
    Expr leaf;
    if (is_integer) {
      leaf.number = integer(take_number());
    } else {
      const std::string_view digits = take_quoted();
      double value = 0;
      const auto [end, status] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (status != std::errc() || end != digits.data() + digits.size()) refuse("not a number");
      leaf.number = value;
    }
    skip_assumptions();
    return leaf;
  }

  // Symbol('s0', positive=True, integer=True)
  Expr symbol_leaf() {
    skip_spaces();
    Expr leaf{.fn = Fn::symbol, .symbol = std::string(take_quoted())};
    skip_assumptions();
    return leaf;
  }

  void skip_assumptions() {
    skip_spaces();
    while (!take(')')) {
      expect(',');
      skip_spaces();
      take_name();
      expect('=');
      skip_spaces();
      take_name();
      skip_spaces();
    }
  }

  std::int64_t integer(std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status != std::errc() || end != digits.data() + digits.size())
      refuse("not a 64-bit integer");
    return value;
  }

  std::string_view take_number() {
    skip_spaces();
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (at_ == begin) refuse("a name is missing");
    return text_.substr(begin, at_ - begin);
  }

  std::string_view take_quoted() {
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      refuse("a quoted text is missing");
    const char quote = text_[at_++];
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != quote) ++at_;
    if (at_ == text_.size()) refuse("a quote is not closed");
    return text_.substr(begin, at_++ - begin);
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    skip_spaces();
    if (!take(c)) refuse(std::string("'") + c + "' is missing");
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::bad_input,
                "not a symbolic size: " + why + " at character " + std::to_string(at_),
                "'" + std::string(text_.substr(0, 80)) + "'");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nodes_ = 0;
};

std::string number_text(const Number& number) {
  if (const bool* truth = std::get_if<bool>(&number)) return *truth ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return std::to_string(*integer);
  std::array<char, 32> text{};
  const auto [end, status] =
      std::to_chars(text.data(), text.data() + text.size(), std::get<double>(number));
  return {text.data(), status == std::errc() ? end : text.data()};
}

std::string_view infix(Fn fn) {
  switch (fn) {
    case Fn::add:
      return " + ";
    case Fn::mul:
      return "*";
    case Fn::pow:
      return "**";
    case Fn::floordiv:
      return "//";
    case Fn::truediv:
      return "/";
    case Fn::mod:
      return " % ";
    case Fn::eq:
      return " == ";
    case Fn::ne:
      return " != ";
    case Fn::lt:
      return " < ";
    case Fn::le:
      return " <= ";
    case Fn::gt:
      return " > ";
    case Fn::ge:
      return " >= ";
    case Fn::logical_and:
      return " and ";
    case Fn::logical_or:
      return " or ";
    default:
      return {};
  }
}

std::string_view function_name(Fn fn) {
  const auto* row = std::find_if(kFunctions.begin(), kFunctions.end(),
                                 [&](const Name& candidate) { return candidate.fn == fn; });
  return row == kFunctions.end() ? "?" : row->text;
}

void collect_symbols(const Expr& expr, std::set<std::string>& names) {
  if (expr.fn == Fn::symbol) names.insert(expr.symbol);
  for (const Expr& arg : expr.args) collect_symbols(arg, names);
}

}  // namespace

Expr parse_srepr(std::string_view text) { return Parser(text).parse(); }

std::string expr_text(const Expr& expr) {
  if (expr.fn == Fn::number) return number_text(expr.number);
  if (expr.fn == Fn::symbol) return expr.symbol;
  const std::string_view sign = infix(expr.fn);
  std::string text;
  for (std::size_t i = 0; i < expr.args.size(); ++i) {
    const Expr& arg = expr.args[i];
    const bool brackets = !sign.empty() && !arg.args.empty() && (!infix(arg.fn).empty());
    if (i > 0) text += sign.empty() ? ", " : sign;
    text += brackets ? "(" + expr_text(arg) + ")" : expr_text(arg);
  }
  return sign.empty() ? std::string(function_name(expr.fn)) + "(" + text + ")" : text;
}

std::vector<std::string> expr_symbols(const Expr& expr) {
  std::set<std::string> names;
  collect_symbols(expr, names);
  return {names.begin(), names.end()};
}

}  // namespace lowwater
