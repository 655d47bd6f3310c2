// The scalar operators of symbolic sizes, with Python's semantics: what is left
// in a graph when a size depends on data.
//
//   add sub mul truediv floordiv mod pow   max min   eq ne lt le gt ge
//   and or not   neg   float int   truth (of a number or a one-element tensor)
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <string>

namespace lowwater {

// Operands are int, double or bool (a tensor for truth, int and float).
using SymFunction = c10::IValue (*)(std::span<const c10::IValue> operands);

// `op` with its prefix: "sym::floordiv". nullptr if there is none of that name.
SymFunction find_sym_function(const std::string& op);

}  // namespace lowwater
