// The scalar operators of symbolic sizes, with Python's semantics: what is left
// in a graph when a size depends on data.
//
//   add sub mul truediv floordiv mod pow   max min   eq ne lt le gt ge
//   and or not   neg abs sqrt   float int trunc floor ceil
//   truth(x), ite(condition, a, b)
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace lowwater {

// Operands are int, double or bool; a one-element tensor too where a number is
// wanted of it: truth, not, ite's condition, float, int.
using SymFunction = c10::IValue (*)(std::span<const c10::IValue> operands);

// `op` with its prefix: "sym::floordiv". nullptr if there is none of that name
// with so many operands.
SymFunction find_sym_function(std::string_view op, std::size_t operands);

// Python's bool() of a number or of a one-element tensor.
bool is_true(const c10::IValue& value);

}  // namespace lowwater
