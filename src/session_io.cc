#include "session_io.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "exec/executor_tensors.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

at::Tensor borrow(const TensorView& view, DType dtype, c10::Device device) {
  const std::vector<std::int64_t> strides =
      view.strides.empty() && !view.sizes.empty() ? contiguous_strides(view.sizes) : view.strides;
  const c10::Device place = view.on_device ? device : c10::Device(c10::kCPU);
  return at::for_blob(const_cast<void*>(view.data), view.sizes)
      .strides(strides)
      .options(at::TensorOptions(scalar_type_of(dtype)).device(place))
      .target_device(place)
      .make_tensor();
}

bool is_mutated(const Graph& graph, std::size_t input) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const Output& output) {
    return output.kind == OutputKind::input_mutation &&
           output.target == static_cast<std::int32_t>(input);
  });
}

Tensor own(at::Tensor tensor) {
  tensor = tensor.resolve_conj().resolve_neg();
  Tensor result;
  const auto owner = std::make_shared<at::Tensor>(tensor);
  result.owner = owner;
  result.view.data = tensor.const_data_ptr();
  result.view.dtype = dtype_name(dtype_of(tensor.scalar_type()));
  result.view.sizes = tensor.sizes().vec();
  result.view.strides = tensor.strides().vec();
  result.view.on_device = !tensor.is_cpu();
  return result;
}

}  // namespace

std::vector<at::Tensor> borrow_inputs(const SessionCore& core, const Graph& graph,
                                      const std::vector<TensorView>& views) {
  const c10::InferenceMode inference;
  std::vector<at::Tensor> tensors(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const InputDescription& input = core.program.inputs.at(i);
    if (!input.is_tensor) continue;
    tensors[i] = borrow(views[i], input.dtype, core.device);
    if (is_mutated(graph, i)) tensors[i] = tensors[i].clone();
  }
  return tensors;
}

std::vector<Tensor> own_outputs(const SessionCore& core, const std::vector<at::Tensor>& outputs,
                                const std::vector<at::Tensor>& inputs) {
  const c10::InferenceMode inference;
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < core.outputs.size(); ++i) {
    results.emplace_back();
    if (i >= outputs.size() || !outputs[i].defined()) continue;
    const bool borrowed = std::any_of(inputs.begin(), inputs.end(), [&](const at::Tensor& input) {
      return input.defined() && input.storage().data() == outputs[i].storage().data();
    });
    results.back() = own(borrowed ? outputs[i].clone() : outputs[i]);
  }
  return results;
}

Bytes input_bytes(const Program& program, const std::vector<at::Tensor>& inputs) {
  Bytes sum = 0;
  for (std::size_t i = 0; i < inputs.size() && i < program.inputs.size(); ++i) {
    const SlotId slot = program.inputs[i];
    if (slot == kNone || !inputs[i].defined()) continue;
    const Slot& read = program.slots[static_cast<std::size_t>(slot)];
    if (read.kind != TypeKind::tensor) continue;
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(read.buffer)];
    if (buffer.space == Space::input) sum += meta_of(inputs[i]).extent_bytes();
  }
  return sum;
}

}  // namespace lowwater
