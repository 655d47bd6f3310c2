// The graph run as it stands: no plan, PyTorch's allocator, every value freed at
// its last use. What plans are compared with.
#include <c10/core/Allocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "exec/call.h"
#include "exec/executor.h"
#include "exec/executor_errors.h"
#include "exec/executor_queue.h"
#include "exec/executor_tensors.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Counts what this thread's operators allocate on one device. PyTorch's
// allocators report every allocation and free to whoever profiles the thread.
class PeakCounter final : public c10::MemoryReportingInfoBase {
 public:
  explicit PeakCounter(c10::Device device) : device_(device) {}

  void reportMemoryUsage(void* address, std::int64_t bytes, std::size_t, std::size_t,
                         c10::Device device) override {
    if (device.type() != device_.type()) return;
    if (bytes > 0) {
      live_ += bytes;
      sizes_[address] = bytes;
      peak_ = std::max(peak_, live_);
    } else if (const auto found = sizes_.find(address); found != sizes_.end()) {
      live_ -= found->second;  // frees of what was there before do not count
      sizes_.erase(found);
    }
  }
  bool memoryProfilingEnabled() const override { return true; }
  Bytes peak() const { return peak_; }

 private:
  c10::Device device_;
  Bytes live_ = 0, peak_ = 0;
  std::unordered_map<void*, Bytes> sizes_;
};

// By value: the last node that reads it; nodes.size() if it is an output.
std::vector<NodeId> last_uses(const Graph& graph) {
  std::vector<NodeId> last(graph.values.size(), kNone);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto node = static_cast<NodeId>(i);
    for (const ValueId value : node_inputs(graph.nodes[i])) last[at(value)] = node;
    for (const ValueId value : graph.nodes[i].outputs) {
      if (value != kNone) last[at(value)] = std::max(last[at(value)], node);
    }
  }
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value, [&](const Ref& ref) {
      last[at(ref.id)] = static_cast<NodeId>(graph.nodes.size());
    });
  }
  return last;
}

c10::IValue weight_value(const DeviceWeights& weights, const WeightTable& table, WeightId id,
                         c10::Device device) {
  const Weight& weight = table.weights.at(at(id));
  const Bytes size = table.storages.at(at(weight.storage)).size;
  const TensorMeta meta{weight.dtype, weight.sizes, weight.strides, weight.storage_offset, size};
  return view_of(storage_over(weights.address(weight.storage), size, device), meta);
}

class Interpreter {
 public:
  Interpreter(const Graph& graph, const DeviceWeights& weights, const WeightTable& table,
              c10::Device device)
      : graph_(graph),
        weights_(weights),
        table_(table),
        device_(device),
        values_(graph.values.size()) {
    for (const Node& node : graph.nodes) calls_.emplace_back(node.op, node.args, device);
    dying_.resize(graph.nodes.size());
    const std::vector<NodeId> last = last_uses(graph);
    for (std::size_t v = 0; v < last.size(); ++v) {
      const bool dies = last[v] >= 0 && at(last[v]) < graph.nodes.size();
      if (dies) dying_[at(last[v])].push_back(static_cast<ValueId>(v));
    }
  }

  void set_sources(const std::vector<at::Tensor>& inputs) {
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.kind == ValueKind::weight)
        values_[v] = weight_value(weights_, table_, value.index, device_);
      if (value.kind == ValueKind::input)
        values_[v] = input_value(value, inputs.at(at(value.index)));
    }
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const bool skipped =
          node.guard != kNone && is_true(values_[at(node.guard)]) != node.guard_when;
      try {
        if (!skipped) keep(node, calls_[i].run(values_));
      } catch (...) {
        rethrow_as_error(node.op, graph_.where(static_cast<NodeId>(i)), 0);
      }
      for (const ValueId value : dying_[i]) values_[at(value)] = c10::IValue();
    }
  }

  // User outputs; then the mutated buffers and inputs are written.
  std::vector<at::Tensor> finish(const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> outputs, news;
    for (const Output& output : graph_.outputs) {
      const auto* ref = std::get_if<Ref>(&output.value);
      const bool tensor = ref != nullptr && ref->id >= 0 && values_[at(ref->id)].isTensor();
      outputs.push_back(tensor ? values_[at(ref->id)].toTensor() : at::Tensor());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      // Outputs belong to the caller: never the session's own weights.
      const bool state = graph_.outputs[i].kind != OutputKind::user;
      if (outputs[i].defined() && (state || is_weight(outputs[i]))) outputs[i] = outputs[i].clone();
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Output& output = graph_.outputs[i];
      if (!outputs[i].defined() || output.kind == OutputKind::user) continue;
      at::Tensor target = output.kind == OutputKind::input_mutation
                              ? inputs.at(at(output.target))
                              : weight_value(weights_, table_, output.target, device_).toTensor();
      target.copy_(outputs[i]);
    }
    return outputs;
  }

 private:
  c10::IValue input_value(const Value& value, const at::Tensor& tensor) const {
    if (!tensor.defined()) return {};
    if (value.type.kind == TypeKind::tensor)
      return tensor.device() == device_ ? tensor : tensor.to(device_);
    const at::Scalar number = tensor.item();
    if (value.type.kind == TypeKind::integer) return number.toLong();
    return value.type.kind == TypeKind::real ? c10::IValue(number.toDouble())
                                             : c10::IValue(number.toBool());
  }

  void keep(const Node& node, std::vector<c10::IValue> results) {
    if (results.size() < node.outputs.size()) throw Error(ErrorKind::internal, "too few results");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNone) values_[at(node.outputs[i])] = std::move(results[i]);
    }
  }

  bool is_weight(const at::Tensor& tensor) const {
    const auto* address = static_cast<const std::byte*>(tensor.storage().data());
    for (std::size_t i = 0; i < table_.storages.size(); ++i) {
      if (address != nullptr && weights_.address(static_cast<StorageIndex>(i)) == address)
        return true;
    }
    return false;
  }

  const Graph& graph_;
  const DeviceWeights& weights_;
  const WeightTable& table_;
  c10::Device device_;
  std::vector<PreparedCall> calls_;          // by node
  std::vector<std::vector<ValueId>> dying_;  // by node: what it reads last
  std::vector<c10::IValue> values_;
};

}  // namespace

std::vector<at::Tensor> run_naive(const Graph& graph, const DeviceWeights& weights,
                                  const WeightTable& table, c10::Device device,
                                  const std::vector<at::Tensor>& inputs, Bytes* peak_bytes,
                                  double* ms, std::shared_ptr<DeviceQueue> queue) {
  const c10::InferenceMode inference;
  if (inputs.size() != graph.inputs.size())
    throw Error(ErrorKind::bad_input, "wrong number of inputs");
  Interpreter interpreter(graph, weights, table, device);
  if (queue == nullptr) queue = make_queue(device);
  interpreter.set_sources(inputs);
  const auto counter = std::make_shared<PeakCounter>(device);
  queue->begin();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
    queue->use(0);
    interpreter.run();
  }
  const double elapsed = queue->finish();
  std::vector<at::Tensor> outputs = interpreter.finish(inputs);
  queue->finish();
  if (peak_bytes != nullptr) *peak_bytes = counter->peak();
  if (ms != nullptr) *ms = elapsed;
  return outputs;
}

}  // namespace lowwater
