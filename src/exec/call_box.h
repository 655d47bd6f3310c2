// Numbers and constants of a call as the boxed values that a schema wants.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstddef>

#include "graph/arg.h"
#include "graph/schema.h"

namespace lowwater {

// What the schema wants at one position.
struct Wanted {
  SchemaType type = SchemaType::other;
  std::size_t length = 1;  // int[2]: a single number stands for two
};

// An argument that refers to no value. Throws Error(internal) if it does not fit.
c10::IValue box_constant(const Arg& arg, Wanted wanted, c10::Device device);

// An operand: tensors as they are (their number where one is wanted), numbers
// converted, wrapped in a host tensor where a tensor is wanted.
c10::IValue box_operand(const c10::IValue& value, Wanted wanted);

[[noreturn]] void does_not_fit_schema();

}  // namespace lowwater
