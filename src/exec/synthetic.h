// Inputs to record a step on: the types, sizes, strides and shared storages
// that the spec asks for, holding numbers that no operator chokes on.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "analysis/step.h"

namespace lowwater {

// What the elements are. `usual` suits nearly every operator: normal floats,
// zeros as integers (always a valid index), true. `tame` is for those that
// refuse it (probabilities, divisors): floats in (0, 1), ones.
enum class Synthetic : std::uint8_t { usual, tame };

// Bytes of the storages that synthetic_inputs makes.
Bytes synthetic_input_bytes(const StepSpec& spec, Bytes alignment);

// One tensor per spec.tensors. Storages come from whatever allocator answers at
// the moment (a RecordScope: the slab); equal storage groups share one. Under
// InferenceMode. A worst-case spec gets distinct nonzero integers in its first
// operand, so that nonzero() and its like return as much as they can.
std::vector<at::Tensor> synthetic_inputs(const StepSpec& spec, c10::Device device, Synthetic kind);

}  // namespace lowwater
