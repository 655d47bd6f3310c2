#include <cstddef>

#include "rewrite/edit.h"
#include "rewrite/rewrite.h"

namespace lowwater {
namespace {

// Barriers write; a random operator moves the generator for those after it.
bool has_effects(const Node& node, const RewriteContext& context) {
  if (node.barrier) return true;
  const Schema* schema = context.schemas == nullptr ? nullptr : context.schemas->find(node.op);
  return schema != nullptr && schema->random;
}

}  // namespace

int remove_dead_code(Graph& graph, const RewriteContext& context) {
  std::vector<bool> used(graph.values.size(), false);
  const auto use = [&](ValueId id) { used[static_cast<std::size_t>(id)] = true; };
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value, [&](const Ref& ref) { use(ref.id); });
  }
  std::vector<bool> dead(graph.nodes.size(), true);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    bool alive = has_effects(node, context);
    for (const ValueId id : node.outputs) {
      alive = alive || (id != kNone && used[static_cast<std::size_t>(id)]);
    }
    if (!alive) continue;
    dead[i] = false;
    for (const ValueId id : node_inputs(node)) use(id);
  }
  // Inputs stay: they are the caller's. Of a living node the kernel returns
  // every output; those that nobody reads need no name.
  int changes = 0;
  std::vector<bool> unread(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    changes += dead[i] ? 1 : 0;
    for (ValueId& id : graph.nodes[i].outputs) {
      if (dead[i] || id == kNone || used[static_cast<std::size_t>(id)]) continue;
      unread[static_cast<std::size_t>(id)] = true;
      id = kNone;
      ++changes;
    }
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].kind != ValueKind::weight || used[i]) continue;
    unread[i] = true;
    ++changes;
  }
  if (changes > 0) compact(graph, dead, unread);
  return changes;
}

}  // namespace lowwater
