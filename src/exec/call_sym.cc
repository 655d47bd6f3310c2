#include "exec/call_sym.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using c10::IValue;
using Operands = std::span<const IValue>;

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorKind::bad_input, why, "a size that depends on data");
}

// A one-element tensor becomes its number (waits for the device).
IValue number_of(const IValue& value) {
  return value.isTensor() ? IValue(value.toTensor().item()) : value;
}

bool is_real(const IValue& value) { return value.isDouble(); }

std::int64_t integer_of(const IValue& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}

double real_of(const IValue& value) {
  return value.isDouble() ? value.toDouble() : static_cast<double>(integer_of(value));
}

// A real operation if either operand is real, else an integer one.
template <typename Operation>
IValue binary(Operands x) {
  if (is_real(x[0]) || is_real(x[1])) return Operation{}(real_of(x[0]), real_of(x[1]));
  return Operation{}(integer_of(x[0]), integer_of(x[1]));
}

void check_divisor(bool zero) {
  if (zero) refuse("division by zero");
}

void check_overflow(bool overflowed) {
  if (overflowed) refuse("integer overflow");
}

struct Add {
  double operator()(double a, double b) const { return a + b; }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    check_overflow(__builtin_add_overflow(a, b, &result));
    return result;
  }
};

struct Sub {
  double operator()(double a, double b) const { return a - b; }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    check_overflow(__builtin_sub_overflow(a, b, &result));
    return result;
  }
};

struct Mul {
  double operator()(double a, double b) const { return a * b; }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    check_overflow(__builtin_mul_overflow(a, b, &result));
    return result;
  }
};

// Rounds towards minus infinity: -7 // 2 = -4.
struct FloorDiv {
  double operator()(double a, double b) const {
    check_divisor(b == 0);
    return std::floor(a / b);
  }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    check_divisor(b == 0);
    if (b == -1) return Sub{}(std::int64_t{0}, a);
    return a / b - static_cast<std::int64_t>(a % b != 0 && (a % b < 0) != (b < 0));
  }
};

// Has the sign of the divisor: -7 % 2 = 1.
struct Mod {
  double operator()(double a, double b) const {
    check_divisor(b == 0);
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    check_divisor(b == 0);
    if (b == -1) return 0;
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

IValue true_divide(Operands x) {
  check_divisor(real_of(x[1]) == 0);
  return real_of(x[0]) / real_of(x[1]);
}

IValue power(Operands x) {
  if (is_real(x[0]) || is_real(x[1]) || integer_of(x[1]) < 0) {
    return std::pow(real_of(x[0]), real_of(x[1]));
  }
  std::int64_t result = 1, base = integer_of(x[0]);
  for (std::int64_t exponent = integer_of(x[1]); exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = Mul{}(result, base);
    if (exponent > 1) base = Mul{}(base, base);
  }
  return result;
}

IValue larger(Operands x) { return binary<std::less<>>(x).toBool() ? x[1] : x[0]; }
IValue smaller(Operands x) { return binary<std::greater<>>(x).toBool() ? x[1] : x[0]; }

// Logical on booleans, bitwise on integers, like Python's & and |.
template <typename Operation>
IValue bitwise(Operands x) {
  const std::int64_t result = Operation{}(integer_of(x[0]), integer_of(x[1]));
  if (x[0].isBool() && x[1].isBool()) return result != 0;
  return result;
}

IValue truth(Operands x) { return is_true(x[0]); }
IValue logical_not(Operands x) { return !is_true(x[0]); }
IValue choose(Operands x) { return is_true(x[0]) ? x[1] : x[2]; }

IValue negative(Operands x) {
  if (is_real(x[0])) return -x[0].toDouble();
  return Sub{}(std::int64_t{0}, integer_of(x[0]));
}
IValue absolute(Operands x) { return real_of(x[0]) < 0 ? negative(x) : x[0]; }
IValue square_root(Operands x) { return std::sqrt(real_of(x[0])); }
IValue to_real(Operands x) { return real_of(number_of(x[0])); }

double toward_zero(double value) { return std::trunc(value); }
double downwards(double value) { return std::floor(value); }
double upwards(double value) { return std::ceil(value); }

// An integer, refusing what none holds.
template <double (*Round)(double)>
IValue rounded(Operands x) {
  const IValue value = number_of(x[0]);
  if (!is_real(value)) return integer_of(value);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const double result = Round(value.toDouble());
  if (!(result >= -kLimit && result < kLimit)) refuse("a number too large for an integer");
  return static_cast<std::int64_t>(result);
}

struct Entry {
  std::string_view name;
  std::size_t operands;
  SymFunction function;
};

constexpr std::array kTable = {
    Entry{"add", 2, binary<Add>},
    Entry{"sub", 2, binary<Sub>},
    Entry{"mul", 2, binary<Mul>},
    Entry{"truediv", 2, true_divide},
    Entry{"floordiv", 2, binary<FloorDiv>},
    Entry{"mod", 2, binary<Mod>},
    Entry{"pow", 2, power},
    Entry{"max", 2, larger},
    Entry{"min", 2, smaller},
    Entry{"eq", 2, binary<std::equal_to<>>},
    Entry{"ne", 2, binary<std::not_equal_to<>>},
    Entry{"lt", 2, binary<std::less<>>},
    Entry{"le", 2, binary<std::less_equal<>>},
    Entry{"gt", 2, binary<std::greater<>>},
    Entry{"ge", 2, binary<std::greater_equal<>>},
    Entry{"and", 2, bitwise<std::bit_and<>>},
    Entry{"or", 2, bitwise<std::bit_or<>>},
    Entry{"not", 1, logical_not},
    Entry{"truth", 1, truth},
    Entry{"ite", 3, choose},
    Entry{"neg", 1, negative},
    Entry{"abs", 1, absolute},
    Entry{"sqrt", 1, square_root},
    Entry{"float", 1, to_real},
    Entry{"int", 1, rounded<toward_zero>},
    Entry{"trunc", 1, rounded<toward_zero>},
    Entry{"floor", 1, rounded<downwards>},
    Entry{"ceil", 1, rounded<upwards>},
};

}  // namespace

SymFunction find_sym_function(std::string_view op, std::size_t operands) {
  if (!op.starts_with("sym::")) return nullptr;
  for (const Entry& entry : kTable) {
    if (entry.name == op.substr(5) && entry.operands == operands) return entry.function;
  }
  return nullptr;
}

bool is_true(const IValue& value) {
  const IValue number = number_of(value);
  return is_real(number) ? number.toDouble() != 0 : integer_of(number) != 0;
}

}  // namespace lowwater
