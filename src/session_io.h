// The public tensors of a session and PyTorch's.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "session_state.h"

namespace lowwater {

// By flat input; undefined where the model takes no tensor. Borrows the memory.
// An input that the model mutates is copied: the caller's stays as it is.
std::vector<at::Tensor> borrow_inputs(const SessionCore& core, const Graph& graph,
                                      const std::vector<TensorView>& views);

// User outputs. One that is a view of an input is copied: its memory is borrowed.
std::vector<Tensor> own_outputs(const SessionCore& core, const std::vector<at::Tensor>& outputs,
                                const std::vector<at::Tensor>& inputs);

// Bytes of the input tensors that the program reads on the device.
Bytes input_bytes(const Program& program, const std::vector<at::Tensor>& inputs);

}  // namespace lowwater
