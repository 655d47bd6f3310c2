// What is known of a symbolic size while some of its symbols are not: an
// interval that holds it, or the one symbol that makes it equal a number.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/srepr.h"

namespace lowwater {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Interval64 hull(std::initializer_list<double> corners) {
  return {std::min(corners), std::max(corners)};
}

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }  // 0 * infinity is 0 here

Interval64 product(Interval64 a, Interval64 b) {
  return hull(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
}

Interval64 quotient(Interval64 a, Interval64 b) {
  if (!(b.low > 0)) return {-kInfinity, kInfinity};
  const Interval64 inverse{b.high == kInfinity ? 0 : 1 / b.high, 1 / b.low};
  return product(a, inverse);
}

}  // namespace

Interval64 enclose(const Expr& expr, const Bindings& bindings,
                   const std::map<std::string, Interval64>& ranges) {
  if (const auto known = evaluate(expr, bindings)) return {as_real(*known), as_real(*known)};
  if (expr.fn == Fn::symbol) {
    const auto range = ranges.find(expr.symbol);
    return range == ranges.end() ? Interval64{0, kInfinity} : range->second;
  }
  std::vector<Interval64> args;
  for (const Expr& arg : expr.args) args.push_back(enclose(arg, bindings, ranges));
  const auto fold = [&](auto&& combine) {
    Interval64 result = args.at(0);
    for (std::size_t i = 1; i < args.size(); ++i) result = combine(result, args[i]);
    return result;
  };
  if (args.empty()) return {-kInfinity, kInfinity};
  switch (expr.fn) {
    case Fn::add:
      return fold([](Interval64 a, Interval64 b) {
        return Interval64{a.low + b.low, a.high + b.high};
      });
    case Fn::mul:
      return fold(product);
    case Fn::max:
      return fold([](Interval64 a, Interval64 b) {
        return Interval64{std::max(a.low, b.low), std::max(a.high, b.high)};
      });
    case Fn::min:
      return fold([](Interval64 a, Interval64 b) {
        return Interval64{std::min(a.low, b.low), std::min(a.high, b.high)};
      });
    case Fn::pair:
    case Fn::ceil:
    case Fn::identity:
    case Fn::to_real:
    case Fn::floor:
    case Fn::trunc:
    case Fn::trunc_to_real:
    case Fn::round:
      return {std::floor(args[0].low), std::ceil(args[0].high)};
    case Fn::piecewise:
      return fold([](Interval64 a, Interval64 b) {
        return Interval64{std::min(a.low, b.low), std::max(a.high, b.high)};
      });
    case Fn::floordiv:
    case Fn::ceildiv:
    case Fn::truediv: {
      if (args.size() != 2) break;
      const Interval64 result = quotient(args[0], args[1]);
      return {std::floor(result.low),
              expr.fn == Fn::floordiv ? std::floor(result.high) : std::ceil(result.high)};
    }
    case Fn::mod:
      if (args.size() == 2 && args[1].low > 0) return {0, args[1].high - 1};
      break;
    case Fn::where:
      if (args.size() == 3) return hull({args[1].low, args[1].high, args[2].low, args[2].high});
      break;
    case Fn::pow:
      if (args.size() == 2 && args[0].low >= 1 && args[1].low >= 0) {
        return {std::pow(args[0].low, args[1].low), std::pow(args[0].high, args[1].high)};
      }
      break;
    default:
      break;
  }
  return {-kInfinity, kInfinity};
}

namespace {

// a*s + b, in doubles because of rational factors.
struct Affine {
  double a = 0, b = 0;
};

std::optional<Affine> affine(const Expr& expr, const Bindings& bindings) {
  if (const auto known = evaluate(expr, bindings)) return Affine{0, as_real(*known)};
  if (expr.fn == Fn::symbol) return Affine{1, 0};
  if (expr.fn != Fn::add && expr.fn != Fn::mul) return std::nullopt;
  Affine result = expr.fn == Fn::add ? Affine{0, 0} : Affine{0, 1};
  for (const Expr& arg : expr.args) {
    const auto part = affine(arg, bindings);
    if (!part) return std::nullopt;
    if (expr.fn == Fn::add) {
      result = {result.a + part->a, result.b + part->b};
    } else if (result.a != 0 && part->a != 0) {
      return std::nullopt;
    } else {
      result = {result.a * part->b + result.b * part->a, result.b * part->b};
    }
  }
  return result;
}

}  // namespace

std::optional<Solution> solve_affine(const Expr& expr, std::int64_t value,
                                     const Bindings& bindings) {
  Solution solution;
  for (const std::string& name : expr_symbols(expr)) {
    if (bindings.contains(name)) continue;
    if (!solution.symbol.empty()) return std::nullopt;
    solution.symbol = name;
  }
  const auto form = affine(expr, bindings);
  if (solution.symbol.empty() || !form || form->a == 0) return std::nullopt;
  const auto root = as_integer((static_cast<double>(value) - form->b) / form->a);
  solution.fits = root.has_value();
  solution.value = root.value_or(0);
  return solution;
}

}  // namespace lowwater
