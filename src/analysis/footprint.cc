#include <algorithm>
#include <cstddef>

#include "analysis/facts.h"

namespace lowwater {

std::vector<LiveRange> live_ranges(const Graph& graph, const Facts& facts) {
  std::vector<LiveRange> ranges;
  ranges.reserve(facts.storages.size());
  for (const Storage& storage : facts.storages) {
    const NodeId begin = storage.owner == Storage::Owner::node ? storage.index : kNone;
    ranges.push_back({begin, begin});
  }
  const auto extend = [&](ValueId value, NodeId until) {
    const StorageId storage = facts.values[static_cast<std::size_t>(value)].storage;
    if (storage == kNone) return;
    NodeId& end = ranges[static_cast<std::size_t>(storage)].end;
    end = std::max(end, until);
  };
  const auto count = static_cast<NodeId>(graph.nodes.size());
  for (NodeId id = 0; id < count; ++id) {
    // A guard may be a boolean tensor.
    if (graph.node(id).guard != kNone) extend(graph.node(id).guard, id);
    for (const Arg& arg : graph.node(id).args) {
      for_each_ref(arg, [&](const Ref& ref) { extend(ref.id, id); });
    }
  }
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value, [&](const Ref& ref) { extend(ref.id, count); });
  }
  return ranges;
}

Footprint eager_footprint(const Graph& graph, const Facts& facts) {
  const std::size_t count = graph.nodes.size();
  const std::vector<LiveRange> ranges = live_ranges(graph, facts);
  // change[i]: bytes of older storages that begin or cease to be live at node i.
  std::vector<Bytes> change(count + 2, 0);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Storage& storage = facts.storages[i];
    if (storage.owner != Storage::Owner::node) continue;
    // At its own node a storage is counted by the record's peak.
    change[static_cast<std::size_t>(ranges[i].begin) + 1] += storage.size;
    change[static_cast<std::size_t>(ranges[i].end) + 1] -= storage.size;
  }
  Footprint footprint;
  footprint.at_node.reserve(count);
  Bytes older = 0;
  for (std::size_t i = 0; i < count; ++i) {
    older += change[i];
    const Bytes bytes = older + facts.nodes[i]->peak_bytes();
    footprint.at_node.push_back(bytes);
    if (bytes > footprint.peak) {
      footprint.peak = bytes;
      footprint.peak_node = static_cast<NodeId>(i);
    }
  }
  return footprint;
}

}  // namespace lowwater
