#include "graph/srepr.h"

#include <gtest/gtest.h>

#include "lowwater/error.h"

namespace lowwater {
namespace {

const std::string kS = "Symbol('s0', positive=True, integer=True)";
const std::string kT = "Symbol(\"s1\", integer=True)";
const std::string kU = "Symbol('u0', integer=True)";
const Bindings kBindings = {{"s0", 7}, {"s1", -3}};

Number value(const std::string& text) { return evaluate(parse_srepr(text), kBindings).value(); }
std::int64_t integer(const std::string& text) { return std::get<std::int64_t>(value(text)); }
double real(const std::string& text) { return std::get<double>(value(text)); }
bool truth(const std::string& text) { return std::get<bool>(value(text)); }

TEST(Srepr, Integers) {
  EXPECT_EQ(integer("Integer(-5)"), -5);
  EXPECT_EQ(integer("Add(" + kS + ", Integer(2), " + kT + ")"), 6);
  EXPECT_EQ(integer("Mul(Integer(2), " + kS + ")"), 14);
  EXPECT_EQ(integer("Pow(" + kS + ", Integer(2))"), 49);
  EXPECT_EQ(integer("PowByNatural(Integer(-1), Integer(1000001))"), -1);
  EXPECT_EQ(integer("Max(" + kS + ", " + kT + ", Integer(9))"), 9);
  EXPECT_EQ(integer("Min(" + kS + ", " + kT + ")"), -3);
  EXPECT_EQ(integer("LShift(" + kS + ", Integer(3))"), 56);
  EXPECT_EQ(integer("RShift(Integer(-5), Integer(1))"), -3);
}

// Python's rules: towards minus infinity, the remainder takes the divisor's sign.
TEST(Srepr, Division) {
  EXPECT_EQ(integer("FloorDiv(" + kS + ", Integer(2))"), 3);
  EXPECT_EQ(integer("FloorDiv(Integer(-7), Integer(2))"), -4);
  EXPECT_EQ(integer("FloorDiv(Integer(-7), Integer(-2))"), 3);
  EXPECT_EQ(integer("CleanDiv(Integer(8), Integer(-2))"), -4);
  EXPECT_EQ(integer("CeilDiv(" + kS + ", Integer(2))"), 4);
  EXPECT_EQ(integer("Mod(" + kS + ", Integer(4))"), 3);
  EXPECT_EQ(integer("PythonMod(Integer(-7), Integer(4))"), 1);
  EXPECT_EQ(integer("PythonMod(Integer(7), Integer(-4))"), -1);
  EXPECT_EQ(integer("ModularIndexing(Integer(23), Integer(2), Integer(4))"), 3);
}

TEST(Srepr, Reals) {
  EXPECT_EQ(real("IntTrueDiv(" + kS + ", Integer(2))"), 3.5);
  EXPECT_EQ(real("Rational(-1, 4)"), -0.25);
  EXPECT_EQ(real("Mul(Float('1.5', precision=53), " + kS + ")"), 10.5);
  EXPECT_EQ(real("Pow(" + kS + ", Integer(-1))"), 1.0 / 7);
  EXPECT_EQ(real("ToFloat(" + kS + ")"), 7.0);
  EXPECT_EQ(real("TruncToFloat(Float('-2.5', precision=53))"), -2.0);
  EXPECT_EQ(real("OpaqueUnaryFn_sqrt(Integer(9))"), 3.0);
}

TEST(Srepr, Rounding) {
  const std::string half = "IntTrueDiv(" + kS + ", Integer(2))";
  EXPECT_EQ(integer("CeilToInt(" + half + ")"), 4);
  EXPECT_EQ(integer("FloorToInt(" + half + ")"), 3);
  EXPECT_EQ(integer("TruncToInt(Float('-2.5', precision=53))"), -2);
  EXPECT_EQ(integer("RoundToInt(Float('2.5', precision=53))"), 2);  // to even, as Python
  EXPECT_EQ(integer("RoundToInt(" + half + ")"), 4);
  EXPECT_EQ(integer("ceiling(Rational(1, 3))"), 1);
}

TEST(Srepr, Logic) {
  EXPECT_TRUE(truth("GreaterThan(" + kS + ", Integer(7))"));
  EXPECT_FALSE(truth("StrictGreaterThan(" + kS + ", Integer(7))"));
  EXPECT_TRUE(truth("LessThan(" + kT + ", Integer(-3))"));
  EXPECT_FALSE(truth("StrictLessThan(" + kT + ", Integer(-3))"));
  EXPECT_TRUE(truth("And(Equality(" + kS + ", Integer(7)), Unequality(" + kT + ", Integer(7)))"));
  EXPECT_TRUE(truth("Or(false, Not(false), true)"));
  EXPECT_EQ(integer("Where(Equality(" + kS + ", Integer(7)), Integer(1), Integer(2))"), 1);
  EXPECT_EQ(integer("Piecewise(ExprCondPair(Integer(1), false), ExprCondPair(Integer(2), true))"),
            2);
}

TEST(Srepr, UnknownSymbols) {
  EXPECT_FALSE(evaluate(parse_srepr("Add(" + kS + ", " + kU + ")"), kBindings));
  EXPECT_EQ(expr_symbols(parse_srepr("Add(" + kU + ", Mul(" + kS + ", " + kU + "))")),
            (std::vector<std::string>{"s0", "u0"}));
}

TEST(Srepr, Text) {
  EXPECT_EQ(expr_text(parse_srepr(kS)), "s0");
  EXPECT_EQ(expr_text(parse_srepr("Mul(Integer(2), " + kS + ")")), "2*s0");
  EXPECT_EQ(expr_text(parse_srepr("FloorDiv(Add(" + kS + ", Integer(1)), Integer(2))")),
            "(s0 + 1)//2");
  EXPECT_EQ(expr_text(parse_srepr("Max(Integer(1), " + kS + ")")), "Max(1, s0)");
}

std::string refusal(const std::string& text, ErrorKind kind) {
  try {
    evaluate(parse_srepr(text), kBindings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.message();
  }
  return {};
}

TEST(Srepr, UnknownFunctionIsNamed) {
  EXPECT_EQ(refusal("Zeta(Integer(2))", ErrorKind::unsupported),
            "unknown function 'Zeta' in a symbolic size");
}

TEST(Srepr, MalformedText) {
  for (const char* text :
       {"", "(", "Integer", "Integer(", "Integer()", "Integer(1", "Integer(1))", "Integer(1) x",
        "Add(Integer(1) Integer(2))", "Symbol(s0)", "Symbol('s0", "Symbol('s0', positive)",
        "Float('x', precision=53)", "Float('', precision=53)", "Integer(99999999999999999999)",
        "Integer(-)", "Add(,)", "\xff(1)"}) {
    EXPECT_NE(refusal(text, ErrorKind::bad_input), "") << text;
  }
}

TEST(Srepr, BadArithmetic) {
  EXPECT_EQ(refusal("FloorDiv(Integer(1), Integer(0))", ErrorKind::bad_input), "division by zero");
  EXPECT_EQ(refusal("Mod(Integer(1), Integer(0))", ErrorKind::bad_input), "division by zero");
  EXPECT_EQ(refusal("Mul(Integer(4611686018427387904), Integer(2))", ErrorKind::bad_input),
            "overflow");
  EXPECT_EQ(refusal("Add(Integer(9223372036854775807), Integer(1))", ErrorKind::bad_input),
            "overflow");
  EXPECT_EQ(refusal("Pow(Integer(3), Integer(1000000000000))", ErrorKind::bad_input), "overflow");
  EXPECT_EQ(refusal("FloorDiv(Integer(-9223372036854775808), Integer(-1))", ErrorKind::bad_input),
            "overflow");
  EXPECT_EQ(refusal("LShift(Integer(1), Integer(-1))", ErrorKind::bad_input),
            "shift by a negative or too large number");
  EXPECT_EQ(refusal("CeilToInt(Float('1e300', precision=53))", ErrorKind::bad_input),
            "a number does not fit 64 bits");
  EXPECT_EQ(refusal("FloorDiv(Integer(1))", ErrorKind::bad_input), "wrong number of arguments");
  EXPECT_EQ(refusal("Max()", ErrorKind::bad_input), "wrong number of arguments");
}

TEST(Srepr, HostileNestingIsRefused) {
  std::string deep, end;
  for (int i = 0; i < 100'000; ++i) deep += "Add(", end += ")";
  EXPECT_NE(refusal(deep + "Integer(1)" + end, ErrorKind::bad_input), "");
  std::string wide = "Add(Integer(1)";
  for (int i = 0; i < 100'000; ++i) wide += ", Integer(1)";
  EXPECT_NE(refusal(wide + ")", ErrorKind::bad_input), "");
}

// ---- intervals

Interval64 bounds(const std::string& text) {
  return enclose(parse_srepr(text), kBindings, {{"u0", {2, 10}}});
}

TEST(Enclose, UpperBounds) {
  EXPECT_EQ(bounds(kU).high, 10);
  EXPECT_EQ(bounds("Add(Mul(Integer(2), " + kU + "), Integer(1))").high, 21);
  EXPECT_EQ(bounds("Mul(Integer(-2), " + kU + ")").high, -4);
  EXPECT_EQ(bounds("Mul(" + kU + ", " + kS + ")").high, 70);
  EXPECT_EQ(bounds("FloorDiv(" + kU + ", Integer(3))").high, 3);
  EXPECT_EQ(bounds("CeilDiv(" + kU + ", Integer(3))").high, 4);
  EXPECT_EQ(bounds("FloorDiv(Integer(100), " + kU + ")").high, 50);
  EXPECT_EQ(bounds("Max(Integer(3), " + kU + ")").low, 3);
  EXPECT_EQ(bounds("Min(Integer(3), " + kU + ")").high, 3);
  EXPECT_EQ(bounds("Mod(" + kU + ", Integer(4))").high, 3);
  EXPECT_EQ(bounds("Pow(" + kU + ", Integer(2))").high, 100);
  EXPECT_EQ(bounds("Where(GreaterThan(" + kU + ", Integer(4)), " + kU + ", Integer(50))").high, 50);
  EXPECT_EQ(bounds("Symbol('u9', integer=True)").high, std::numeric_limits<double>::infinity());
}

// ---- solving

TEST(SolveAffine, OneUnknown) {
  const auto solve = [](const std::string& text, std::int64_t size) {
    return solve_affine(parse_srepr(text), size, kBindings);
  };
  EXPECT_EQ(solve(kU, 5)->value, 5);
  EXPECT_EQ(solve("Add(Mul(Integer(2), " + kU + "), Integer(1))", 9)->value, 4);
  EXPECT_FALSE(solve("Add(Mul(Integer(2), " + kU + "), Integer(1))", 8)->fits);
  EXPECT_EQ(solve("Mul(" + kS + ", " + kU + ")", 21)->value, 3);  // s0 = 7
  EXPECT_EQ(solve("Mul(Rational(1, 2), " + kU + ")", 4)->value, 8);
  EXPECT_FALSE(solve("Mul(" + kU + ", " + kU + ")", 9));
  EXPECT_FALSE(solve("Add(" + kU + ", Symbol('u1', integer=True))", 9));
  EXPECT_FALSE(solve("FloorDiv(" + kU + ", Integer(2))", 9));
  EXPECT_FALSE(solve(kS, 7));  // nothing unknown
}

}  // namespace
}  // namespace lowwater
