#include "analysis/facts.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lowwater/error.h"

namespace lowwater {
namespace {

std::string print_sizes(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(sizes[i]);
  }
  return text + "]";
}

// Runs sym:: operators' share of the walk: one number, nothing allocated.
const StepRecord& scalar_record() {
  static const StepRecord record{{}, {StepOutput{OutputHome::scalar, 0, {}}}};
  return record;
}

class Collector {
 public:
  Collector(const Graph& graph, const WeightTable& weights) : graph_(graph), weights_(weights) {
    facts_.values.resize(graph.values.size());
    facts_.nodes.reserve(graph.nodes.size());
    facts_.specs.reserve(graph.nodes.size());
  }

  void add_sources() {
    for (std::size_t id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (value.type.kind != TypeKind::tensor) continue;
      if (value.kind == ValueKind::input) add_input(static_cast<ValueId>(id));
      if (value.kind == ValueKind::weight) add_weight(static_cast<ValueId>(id));
    }
  }

  void add_node(NodeId id, CostProvider& costs) {
    const Node& node = graph_.node(id);
    check_operands(id);
    facts_.specs.push_back(make_spec(graph_, node, facts_.values));
    const StepSpec& spec = facts_.specs.back();
    if (is_scalar_op(node.op)) {
      facts_.nodes.push_back(&scalar_record());
      return;
    }
    const StepRecord& record = costs.record(spec);
    facts_.nodes.push_back(&record);
    facts_.basis = std::max(facts_.basis, record.basis);
    if (record.outputs.size() < node.outputs.size()) {
      throw Error(ErrorKind::unsupported,
                  node.op + " returned " + std::to_string(record.outputs.size()) +
                      " values where the archive lists " + std::to_string(node.outputs.size()),
                  graph_.where(id));
    }
    place_outputs(id, record);
  }

  Facts take() {
    for (const Output& output : graph_.outputs) {
      const auto* ref = std::get_if<Ref>(&output.value);
      if (ref != nullptr && elsewhere_.contains(ref->id)) {
        refuse_elsewhere(ref->id, graph_.value(ref->id).producer);
      }
    }
    return std::move(facts_);
  }

 private:
  ValueFact& fact(ValueId id) { return facts_.values[static_cast<std::size_t>(id)]; }

  StorageId add_storage(Storage::Owner owner, std::int32_t index, Bytes size) {
    facts_.storages.push_back({owner, index, size, {}});
    return static_cast<StorageId>(facts_.storages.size() - 1);
  }

  void join(ValueId id, StorageId storage, TensorMeta meta) {
    Storage& home = facts_.storages[static_cast<std::size_t>(storage)];
    meta.storage_bytes = home.size;
    home.values.push_back(id);
    fact(id) = {storage, std::move(meta)};
  }

  void add_input(ValueId id) {
    const Value& value = graph_.value(id);
    TensorMeta meta{value.type.dtype, value.type.sizes, value.type.strides, 0, 0};
    if (meta.strides.size() != meta.sizes.size()) meta.strides = contiguous_strides(meta.sizes);
    const StorageId storage = add_storage(Storage::Owner::input, value.index, meta.extent_bytes());
    join(id, storage, std::move(meta));
  }

  void add_weight(ValueId id) {
    const Weight& weight = weights_.weights.at(static_cast<std::size_t>(graph_.value(id).index));
    auto [found, is_new] = weight_storages_.try_emplace(weight.storage, kNone);
    if (is_new) {
      const Bytes size = weights_.storages.at(static_cast<std::size_t>(weight.storage)).size;
      found->second = add_storage(Storage::Owner::weight, weight.storage, size);
    }
    join(id, found->second, {weight.dtype, weight.sizes, weight.strides, weight.storage_offset, 0});
  }

  // An undefined tensor may be handed on (as None), one on the host may not.
  void check_operands(NodeId id) const {
    for (const ValueId value : node_inputs(graph_.node(id))) {
      if (elsewhere_.contains(value)) refuse_elsewhere(value, id);
    }
  }

  [[noreturn]] void refuse_elsewhere(ValueId value, NodeId where) const {
    const Value& operand = graph_.value(value);
    throw Error(ErrorKind::unsupported,
                graph_.node(operand.producer).op + " returned %" + operand.name +
                    " in memory that is neither its own nor an operand's",
                graph_.where(where));
  }

  void place_outputs(NodeId id, const StepRecord& record) {
    const Node& node = graph_.node(id);
    // Two outputs may be views of one allocation.
    std::unordered_map<std::int32_t, StorageId> fresh;
    for (std::size_t i = 0; i < record.outputs.size(); ++i) {
      const StepOutput& output = record.outputs[i];
      const ValueId value = i < node.outputs.size() ? node.outputs[i] : kNone;
      if (output.home == OutputHome::fresh) {
        auto [found, is_new] = fresh.try_emplace(output.source, kNone);
        if (is_new) {
          found->second = add_storage(Storage::Owner::node, id, allocated_bytes(record, output));
        }
        if (value != kNone) join(value, found->second, output.meta);
      } else if (output.home == OutputHome::alias && value != kNone) {
        place_alias(id, value, output);
      } else if (output.home == OutputHome::absent && output.meta.storage_bytes > 0) {
        elsewhere_.insert(value);
      }
      if (value != kNone) check_type(id, value, output);
    }
  }

  // The record speaks of the normalised storage; moves the view back.
  void place_alias(NodeId id, ValueId value, const StepOutput& output) {
    const StepSpec& spec = facts_.specs[static_cast<std::size_t>(id)];
    const auto source = static_cast<std::size_t>(output.source);
    const auto operands = tensor_operands(graph_, graph_.node(id), facts_.values);
    if (source >= operands.size()) {
      throw Error(ErrorKind::internal,
                  "a record aliases operand " + std::to_string(source) + " of " +
                      std::to_string(operands.size()),
                  graph_.where(id));
    }
    const ValueFact& operand = fact(operands[source]);
    const TensorMeta& moved = spec.tensors[source];
    const Bytes base =
        (operand.meta.storage_offset - moved.storage_offset) * element_size(moved.dtype);
    TensorMeta meta = output.meta;
    meta.storage_offset += base / element_size(meta.dtype);
    join(value, operand.storage, std::move(meta));
  }

  static Bytes allocated_bytes(const StepRecord& record, const StepOutput& output) {
    for (const AllocEvent& event : record.events) {
      if (event.is_alloc && event.id == output.source) return event.size;
    }
    return output.meta.storage_bytes;  // an empty tensor allocates nothing
  }

  static std::vector<std::int64_t> without_ones(std::vector<std::int64_t> sizes) {
    std::erase(sizes, 1);
    return sizes;
  }

  void check_type(NodeId id, ValueId value, const StepOutput& output) const {
    const Type& type = graph_.value(value).type;
    const bool is_tensor = output.home == OutputHome::fresh || output.home == OutputHome::alias;
    if (!is_tensor || type.kind != TypeKind::tensor || type.dynamic) return;
    // Export is wrong about dimensions of size 1 now and then (lstm's state): the
    // kernel's word holds, and what reads the value is measured with it.
    if (without_ones(output.meta.sizes) == without_ones(type.sizes) &&
        output.meta.dtype == type.dtype)
      return;
    throw Error(ErrorKind::unsupported,
                graph_.node(id).op + " returned " + std::string(dtype_name(output.meta.dtype)) +
                    print_sizes(output.meta.sizes) + " where the archive says " +
                    std::string(dtype_name(type.dtype)) + print_sizes(type.sizes) + " (%" +
                    graph_.value(value).name + ")",
                graph_.where(id));
  }

  const Graph& graph_;
  const WeightTable& weights_;
  Facts facts_;
  std::unordered_map<StorageIndex, StorageId> weight_storages_;
  std::unordered_set<ValueId> elsewhere_;  // neither fresh nor an alias: on the host
};

}  // namespace

Facts collect_facts(const Graph& graph, const WeightTable& weights, CostProvider& costs,
                    const Progress& progress) {
  Collector collector(graph, weights);
  collector.add_sources();
  const auto total = static_cast<int>(graph.nodes.size());
  for (int node = 0; node < total; ++node) {
    if (progress && !progress(node, total)) {
      throw Error(ErrorKind::interrupted, "stopped while measuring operators");
    }
    collector.add_node(node, costs);
  }
  if (progress) progress(total, total);
  return collector.take();
}

}  // namespace lowwater
