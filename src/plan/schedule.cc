#include "plan/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "lowwater/error.h"

namespace lowwater {
namespace {

void append_order(const std::vector<ScheduleItem>& items, std::vector<NodeId>& order) {
  for (const ScheduleItem& item : items) {
    const auto* stage = std::get_if<Stage>(&item.item);
    if (stage == nullptr) throw Error(ErrorKind::internal, "flat_order of a schedule with loops");
    order.insert(order.end(), stage->nodes.begin(), stage->nodes.end());
  }
}

// A node is called by its first visible output.
std::string node_name(const Graph& graph, NodeId id) {
  if (id < 0 || static_cast<std::size_t>(id) >= graph.nodes.size()) return fmt::format("#{}", id);
  const Node& node = graph.node(id);
  for (const ValueId output : node.outputs) {
    if (output != kNone) return "%" + graph.value(output).name;
  }
  return node.op;
}

std::string print_nodes(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += " " + node_name(graph, node);
  return text;
}

void print_items(const Graph& graph, const std::vector<ScheduleItem>& items, int depth,
                 std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  for (const ScheduleItem& item : items) {
    if (const auto* stage = std::get_if<Stage>(&item.item)) {
      text += indent + "stage " + print_nodes(graph, stage->nodes) + "\n";
      continue;
    }
    for (const Loop& loop : std::get<std::vector<Loop>>(item.item)) {
      text += indent + print_loop(graph, loop) + "\n";
      print_items(graph, loop.body, depth + 1, text);
    }
  }
}

}  // namespace

std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> value_needed(graph.values.size(), false);
  std::vector<bool> node_needed(graph.nodes.size(), false);
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value,
                 [&](const Ref& ref) { value_needed[static_cast<std::size_t>(ref.id)] = true; });
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    bool needed = node.barrier;
    for (const ValueId output : node.outputs) {
      needed = needed || (output != kNone && value_needed[static_cast<std::size_t>(output)]);
    }
    if (!needed) continue;
    node_needed[i] = true;
    for (const ValueId input : node_inputs(node))
      value_needed[static_cast<std::size_t>(input)] = true;
  }
  return node_needed;
}

Schedule whole_schedule(const Graph& graph, const std::vector<bool>& constant) {
  const std::vector<bool> needed = needed_nodes(graph);
  Schedule schedule;
  Stage stage;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    (constant[i] ? schedule.once : stage.nodes).push_back(static_cast<NodeId>(i));
  }
  if (!stage.nodes.empty()) schedule.body.push_back({std::move(stage)});
  return schedule;
}

std::vector<NodeId> flat_order(const Schedule& schedule) {
  std::vector<NodeId> order;
  append_order(schedule.body, order);
  return order;
}

std::string print_loop(const Graph& graph, const Loop& loop) {
  const bool known =
      loop.axis_value >= 0 && static_cast<std::size_t>(loop.axis_value) < graph.values.size() &&
      loop.axis >= 0 && loop.tile > 0 &&
      static_cast<std::size_t>(loop.axis) < graph.value(loop.axis_value).type.sizes.size();
  if (!known)
    return fmt::format("loop  axis {} of value {}, tile {}", loop.axis, loop.axis_value, loop.tile);
  const Value& value = graph.value(loop.axis_value);
  const std::int64_t extent = value.type.sizes[static_cast<std::size_t>(loop.axis)];
  const std::int64_t tiles = (extent + loop.tile - 1) / loop.tile;
  const std::int64_t last = extent - (tiles - 1) * loop.tile;
  const std::string rest = last != loop.tile && tiles > 1 ? fmt::format(", last {}", last) : "";
  return fmt::format("loop  axis {} of %{}, {} {} of {}{}", loop.axis, value.name, tiles,
                     tiles == 1 ? "tile" : "tiles", loop.tile, rest);
}

std::string print_schedule(const Graph& graph, const Schedule& schedule) {
  std::string text;
  if (!schedule.once.empty()) text += "once  " + print_nodes(graph, schedule.once) + "\n";
  print_items(graph, schedule.body, 0, text);
  return text;
}

}  // namespace lowwater
