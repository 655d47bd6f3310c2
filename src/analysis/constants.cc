#include <cstddef>
#include <unordered_set>

#include "analysis/facts.h"

namespace lowwater {
namespace {

// Runs the same way every time, and whether it runs does not depend on the input.
bool may_run_once(const Graph& graph, const Node& node, const SchemaTable& schemas) {
  if (node.barrier || node.guard != kNone) return false;
  const Schema* schema = schemas.find(node.op);
  // Schema::data_dependent says too much: index.Tensor has it, and is so with
  // masks only. The types of the outputs tell.
  if (schema == nullptr || schema->random) return false;
  for (const ValueId id : node.outputs) {
    // Numbers have no storage that could be kept.
    if (id == kNone) continue;
    const Type& type = graph.value(id).type;
    if (type.kind != TypeKind::tensor || type.dynamic) return false;
  }
  return true;
}

// By ValueId: the weights whose storage an output of the graph changes.
std::vector<bool> mutated_weights(const Graph& graph, const WeightTable* weights) {
  // Storages where known, else the weights themselves.
  const auto home = [&](WeightId id) {
    return weights == nullptr ? id : weights->weights.at(static_cast<std::size_t>(id)).storage;
  };
  std::unordered_set<std::int32_t> mutated;
  for (const Output& output : graph.outputs) {
    if (output.kind == OutputKind::buffer_mutation) mutated.insert(home(output.target));
  }
  std::vector<bool> result(graph.values.size(), false);
  for (std::size_t id = 0; id < graph.values.size() && !mutated.empty(); ++id) {
    const Value& value = graph.values[id];
    result[id] = value.kind == ValueKind::weight && mutated.contains(home(value.index));
  }
  return result;
}

}  // namespace

std::vector<bool> constant_nodes(const Graph& graph, const SchemaTable& schemas,
                                 const WeightTable* weights) {
  const std::vector<bool> is_mutated = mutated_weights(graph, weights);
  std::vector<bool> constant(graph.nodes.size(), false);
  const auto is_constant = [&](ValueId id) {
    const Value& value = graph.value(id);
    if (value.kind == ValueKind::weight) return !is_mutated[static_cast<std::size_t>(id)];
    return value.kind == ValueKind::node && constant[static_cast<std::size_t>(value.producer)];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bool all_constant = may_run_once(graph, node, schemas);
    for (const Arg& arg : node.args) {
      for_each_ref(arg,
                   [&](const Ref& ref) { all_constant = all_constant && is_constant(ref.id); });
    }
    constant[i] = all_constant;
  }
  return constant;
}

}  // namespace lowwater
