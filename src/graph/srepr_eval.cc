// Exact arithmetic of symbolic sizes.
#include <algorithm>
#include <cmath>

#include "graph/srepr.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorKind::bad_input, why, "symbolic size");
}

bool all_integers(const std::vector<Number>& args) {
  return std::none_of(args.begin(), args.end(),
                      [](const Number& arg) { return std::holds_alternative<double>(arg); });
}

std::int64_t exact(const Number& number) {
  const bool* truth = std::get_if<bool>(&number);
  return truth ? std::int64_t{*truth} : std::get<std::int64_t>(number);
}

Number to_int(double value) {
  // 2^63 itself does not fit; NaN fails both comparisons.
  if (!(value >= -0x1p63 && value < 0x1p63)) refuse("a number does not fit 64 bits");
  return static_cast<std::int64_t>(value);
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) refuse("division by zero");
  if (b == -1) return a == INT64_MIN ? (refuse("overflow"), 0) : -a;
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t python_mod(std::int64_t a, std::int64_t b) {
  if (b == 0) refuse("division by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Number integer_pow(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  // Only 0, 1 and -1 survive an exponent of 64 or more.
  if (exponent >= 64 && base >= -1 && base <= 1) exponent = 2 + exponent % 2;
  if (exponent >= 64) refuse("overflow");
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) refuse("overflow");
  }
  return result;
}

std::int64_t shift(Fn fn, std::int64_t a, std::int64_t b) {
  if (b < 0 || b > 62) refuse("shift by a negative or too large number");
  if (fn == Fn::rshift) return a >> b;
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, std::int64_t{1} << b, &result)) refuse("overflow");
  return result;
}

Number sum_or_product(Fn fn, const std::vector<Number>& args) {
  if (!all_integers(args)) {
    double result = fn == Fn::add ? 0 : 1;
    for (const Number& arg : args)
      result = fn == Fn::add ? result + as_real(arg) : result * as_real(arg);
    return result;
  }
  std::int64_t result = fn == Fn::add ? 0 : 1;
  for (const Number& arg : args) {
    const bool overflow = fn == Fn::add ? __builtin_add_overflow(result, exact(arg), &result)
                                        : __builtin_mul_overflow(result, exact(arg), &result);
    if (overflow) refuse("overflow");
  }
  return result;
}

Number extreme(Fn fn, const std::vector<Number>& args) {
  if (args.empty()) refuse("wrong number of arguments");
  const auto less = [](const Number& a, const Number& b) {
    return all_integers({a, b}) ? exact(a) < exact(b) : as_real(a) < as_real(b);
  };
  return fn == Fn::max ? *std::max_element(args.begin(), args.end(), less)
                       : *std::min_element(args.begin(), args.end(), less);
}

Number binary_integers(Fn fn, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (fn) {
    case Fn::sub:
      if (__builtin_sub_overflow(a, b, &result)) refuse("overflow");
      return result;
    case Fn::pow:
      return integer_pow(a, b);
    case Fn::floordiv:
      return floor_div(a, b);
    case Fn::ceildiv:
      result = floor_div(a, b);
      return result + (python_mod(a, b) != 0 ? 1 : 0);
    case Fn::truediv:
      if (b == 0) refuse("division by zero");
      return static_cast<double>(a) / static_cast<double>(b);
    case Fn::mod:
      return python_mod(a, b);
    case Fn::lshift:
    case Fn::rshift:
      return shift(fn, a, b);
    case Fn::bit_and:
      return a & b;
    case Fn::bit_or:
      return a | b;
    case Fn::eq:
      return a == b;
    case Fn::ne:
      return a != b;
    case Fn::lt:
      return a < b;
    case Fn::le:
      return a <= b;
    case Fn::gt:
      return a > b;
    default:
      return a >= b;
  }
}

Number binary_reals(Fn fn, double a, double b) {
  if ((fn == Fn::floordiv || fn == Fn::ceildiv || fn == Fn::truediv || fn == Fn::mod) && b == 0) {
    refuse("division by zero");
  }
  switch (fn) {
    case Fn::sub:
      return a - b;
    case Fn::pow:
      return std::pow(a, b);
    case Fn::floordiv:
      return std::floor(a / b);
    case Fn::ceildiv:
      return std::ceil(a / b);
    case Fn::truediv:
      return a / b;
    case Fn::mod:
      return a - b * std::floor(a / b);
    case Fn::eq:
      return a == b;
    case Fn::ne:
      return a != b;
    case Fn::lt:
      return a < b;
    case Fn::le:
      return a <= b;
    case Fn::gt:
      return a > b;
    case Fn::ge:
      return a >= b;
    default:
      refuse("an operation on integers met a fraction");
  }
}

Number unary(Fn fn, const Number& arg) {
  const bool integer = !std::holds_alternative<double>(arg);
  switch (fn) {
    case Fn::neg:
      return integer ? binary_integers(Fn::sub, 0, exact(arg)) : Number(-as_real(arg));
    case Fn::ceil:
      return integer ? exact(arg) : to_int(std::ceil(as_real(arg)));
    case Fn::floor:
      return integer ? exact(arg) : to_int(std::floor(as_real(arg)));
    case Fn::trunc:
      return integer ? exact(arg) : to_int(std::trunc(as_real(arg)));
    case Fn::round:
      return integer ? exact(arg) : to_int(std::nearbyint(as_real(arg)));
    case Fn::trunc_to_real:
      return std::trunc(as_real(arg));
    case Fn::to_real:
      return as_real(arg);
    case Fn::sqrt:
      return std::sqrt(as_real(arg));
    case Fn::logical_not:
      return !as_truth(arg);
    default:
      return arg;  // pos, identity
  }
}

std::size_t arity(Fn fn) {
  switch (fn) {
    case Fn::neg:
    case Fn::pos:
    case Fn::ceil:
    case Fn::floor:
    case Fn::trunc:
    case Fn::trunc_to_real:
    case Fn::round:
    case Fn::to_real:
    case Fn::sqrt:
    case Fn::identity:
    case Fn::logical_not:
      return 1;
    case Fn::where:
    case Fn::modular_indexing:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

std::optional<std::int64_t> as_integer(const Number& number) {
  const double* real = std::get_if<double>(&number);
  if (!real) return exact(number);
  if (std::trunc(*real) != *real || !(std::abs(*real) < 0x1p62)) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

double as_real(const Number& number) {
  const double* real = std::get_if<double>(&number);
  return real ? *real : static_cast<double>(exact(number));
}

bool as_truth(const Number& number) {
  const double* real = std::get_if<double>(&number);
  return real ? *real != 0 : exact(number) != 0;
}

Number compute(Fn fn, const std::vector<Number>& args) {
  if (fn == Fn::add || fn == Fn::mul) return sum_or_product(fn, args);
  if (fn == Fn::max || fn == Fn::min) return extreme(fn, args);
  if (fn == Fn::logical_and) return std::all_of(args.begin(), args.end(), as_truth);
  if (fn == Fn::logical_or) return std::any_of(args.begin(), args.end(), as_truth);
  if (args.size() != arity(fn)) refuse("wrong number of arguments");
  if (args.size() == 1) return unary(fn, args[0]);
  if (fn == Fn::where) return as_truth(args[0]) ? args[1] : args[2];
  if (fn == Fn::modular_indexing)
    return compute(Fn::mod, {compute(Fn::floordiv, {args[0], args[1]}), args[2]});
  return all_integers(args) ? binary_integers(fn, exact(args[0]), exact(args[1]))
                            : binary_reals(fn, as_real(args[0]), as_real(args[1]));
}

std::optional<Number> evaluate(const Expr& expr, const Bindings& bindings) {
  if (expr.fn == Fn::number) return expr.number;
  if (expr.fn == Fn::symbol) {
    const auto bound = bindings.find(expr.symbol);
    return bound == bindings.end() ? std::nullopt : std::optional<Number>(bound->second);
  }
  if (expr.fn == Fn::piecewise) {
    for (const Expr& pair : expr.args) {
      if (pair.fn != Fn::pair || pair.args.size() != 2)
        refuse("Piecewise holds something else than pairs");
      const auto condition = evaluate(pair.args[1], bindings);
      if (!condition) return std::nullopt;
      if (as_truth(*condition)) return evaluate(pair.args[0], bindings);
    }
    refuse("no case of a Piecewise holds");
  }
  std::vector<Number> args;
  for (const Expr& arg : expr.args) {
    const auto value = evaluate(arg, bindings);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  return compute(expr.fn, args);
}

}  // namespace lowwater
