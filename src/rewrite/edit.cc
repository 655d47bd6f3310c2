#include "rewrite/edit.h"

#include <cstddef>
#include <utility>

namespace lowwater {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Calls `visit(ValueId&)` wherever a node or an output reads a value.
template <typename Visitor>
void for_each_use(Graph& graph, Visitor&& visit) {
  for (Node& node : graph.nodes) {
    for (Arg& arg : node.args) {
      for_each_ref(arg, [&](Ref& ref) { visit(ref.id); });
    }
    if (node.guard != kNone) visit(node.guard);
  }
  for (Output& output : graph.outputs) {
    for_each_ref(output.value, [&](Ref& ref) { visit(ref.id); });
  }
}

// Moves what stays to the front; returns old id -> new id (kNone: removed).
template <typename Item>
std::vector<std::int32_t> squeeze(std::vector<Item>& items, const std::vector<bool>& remove) {
  std::vector<std::int32_t> renumbered(items.size(), kNone);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (remove[i]) continue;
    renumbered[i] = static_cast<std::int32_t>(kept);
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.resize(kept);
  return renumbered;
}

}  // namespace

std::vector<ValueId> no_replacement(const Graph& graph) {
  std::vector<ValueId> replacement(graph.values.size());
  for (std::size_t i = 0; i < replacement.size(); ++i) replacement[i] = static_cast<ValueId>(i);
  return replacement;
}

void replace_uses(Graph& graph, std::vector<ValueId> replacement) {
  const auto resolve = [&](ValueId id) {
    while (replacement[at(id)] != id) id = replacement[at(id)];
    return id;
  };
  for (ValueId& target : replacement) target = resolve(target);
  for_each_use(graph, [&](ValueId& id) { id = replacement[at(id)]; });
}

void compact(Graph& graph, const std::vector<bool>& remove_nodes,
             const std::vector<bool>& remove_values) {
  std::vector<bool> gone = remove_values;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!remove_nodes[i]) continue;
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id != kNone) gone[at(id)] = true;
    }
  }
  const std::vector<std::int32_t> new_node = squeeze(graph.nodes, remove_nodes);
  const std::vector<std::int32_t> new_value = squeeze(graph.values, gone);
  for_each_use(graph, [&](ValueId& id) { id = new_value[at(id)]; });
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.outputs) {
      if (id != kNone) id = new_value[at(id)];
    }
  }
  for (Value& value : graph.values) {
    if (value.producer != kNone) value.producer = new_node[at(value.producer)];
  }
  for (Input& input : graph.inputs) {
    if (input.value != kNone) input.value = new_value[at(input.value)];
  }
}

}  // namespace lowwater
