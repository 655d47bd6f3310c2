// Symbolic sizes as the archive writes them: sympy's srepr text.
//
//   "Mul(Integer(2), Symbol('s77', positive=True, integer=True))"   ->   2*s77
//
// Parsed into a small tree, evaluated exactly where all symbols are known and
// to an interval where some are data-dependent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lowwater {

using Number = std::variant<bool, std::int64_t, double>;

// What an inner node computes; the meaning is Python's (floor division, the
// sign of a remainder). Also the vocabulary of the importer's scalar nodes.
enum class Fn : std::uint8_t {
  number,
  symbol,  // leaves
  add,
  sub,
  mul,
  pow,
  neg,
  pos,
  floordiv,
  ceildiv,
  truediv,
  mod,
  modular_indexing,
  max,
  min,
  ceil,
  floor,
  trunc,
  trunc_to_real,
  round,
  to_real,
  sqrt,
  identity,
  lshift,
  rshift,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  logical_not,
  bit_and,
  bit_or,
  where,  // (condition, value if true, value if false)
  piecewise,
  pair,  // pairs of (value, condition), the first true one counts
};

struct Expr {
  Fn fn = Fn::number;
  Number number = std::int64_t{0};
  std::string symbol;
  std::vector<Expr> args;
};

// Values of symbols: of inputs, by now known.
using Bindings = std::map<std::string, std::int64_t>;

// Throws Error(bad_input) for text that is not srepr (or is absurdly deep or
// long), Error(unsupported) for an unknown function, which it names.
Expr parse_srepr(std::string_view text);

// "2*s0 + 1": for people.
std::string expr_text(const Expr& expr);

// Names of the symbols in it, sorted, without repeats.
std::vector<std::string> expr_symbols(const Expr& expr);

// fn(args). Throws Error(bad_input) for overflow, division by zero and wrong
// numbers of arguments.
Number compute(Fn fn, const std::vector<Number>& args);

// nullopt if a symbol has no binding.
std::optional<Number> evaluate(const Expr& expr, const Bindings& bindings);

// An integer, also from an integral double (rational factors go through
// doubles). nullopt for anything else.
std::optional<std::int64_t> as_integer(const Number& number);
double as_real(const Number& number);
bool as_truth(const Number& number);

struct Interval64 {
  double low = 0, high = 0;  // either may be infinite
};

// Encloses every value that `expr` can take while its unbound symbols are in
// `ranges` (absent: 0 to infinity).
Interval64 enclose(const Expr& expr, const Bindings& bindings,
                   const std::map<std::string, Interval64>& ranges);

// Solves expr == value where expr is a*s + b in exactly one unbound symbol.
// nullopt if it is not of that form; `fits` is false if no integer s does it.
struct Solution {
  std::string symbol;
  std::int64_t value = 0;
  bool fits = true;
};
std::optional<Solution> solve_affine(const Expr& expr, std::int64_t value,
                                     const Bindings& bindings);

}  // namespace lowwater
