// Random graphs for the planner: branches, views, in-place candidates, weights,
// constants, outputs that are views or inputs, mutations; and random valid
// schedules of them. Every draw comes from `pick(n)`, a number in [0, n).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "fake_costs.h"
#include "graph/text.h"
#include "plan/schedule.h"

namespace lowwater {

using Pick = std::function<int(int)>;

inline const char* kRandomGraphRules =
    "view aten::view\n"
    "temp aten::linear 300\n"
    "leak aten::softmax.int 100\n"
    "ms aten::add.Tensor 0.01\n"
    "ms aten::relu 0.01\n"
    "ms aten::neg 0.01\n";

inline Graph random_graph(const Pick& pick) {
  struct Named {
    std::string name;
    int size;
  };
  std::vector<Named> values = {{"x", 16}, {"y", 32}, {"w", 16}, {"k", 32}};
  std::string body;
  const int count = 4 + pick(24);
  for (int i = 0; i < count; ++i) {
    const Named a = values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))];
    std::vector<Named> fits;
    for (const Named& value : values)
      if (value.size == a.size) fits.push_back(value);
    const Named b = fits[static_cast<std::size_t>(pick(static_cast<int>(fits.size())))];
    const std::string name = fmt::format("v{}", i);
    int size = a.size;
    std::string call;
    switch (pick(7)) {
      case 0:
        call = fmt::format("aten::relu(%{})", a.name);
        break;
      case 1:
        call = fmt::format("aten::add.Tensor(%{}, %{}, 1)", a.name, b.name);
        break;
      case 2:
        call = fmt::format("aten::view(%{}, [{}])", a.name, a.size);
        break;
      case 3:
        call = fmt::format("aten::neg(%{})", a.name);
        break;
      case 4:
        size = 16 << pick(4), call = fmt::format("aten::linear(%{}, %w, None)", a.name);
        break;
      case 5:
        call = fmt::format("aten::softmax.int(%{}, 0, None)", a.name);
        break;
      default:
        size = 16, call = fmt::format("aten::mean.dim(%{}, [0], False, None)", a.name);
        break;
    }
    body += fmt::format("  %{}: f32[{}] = {}\n", name, size, call);
    values.push_back({name, size});
  }
  const auto any = [&] {
    return values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))].name;
  };
  std::string outputs = fmt::format("%{}, %{}", values.back().name, any());
  // What takes the place of %w or %x has their size.
  const auto any16 = [&] {
    std::vector<Named> fits;
    for (const Named& value : values)
      if (value.size == 16) fits.push_back(value);
    return fits[static_cast<std::size_t>(pick(static_cast<int>(fits.size())))].name;
  };
  if (pick(3) == 0) outputs += fmt::format(", weight 0 = %{}", any16());
  if (pick(3) == 0) outputs += fmt::format(", input 0 = %{}", any16());
  return parse_graph(
      fmt::format("graph(%x: f32[16], %y: f32[32], %w: weight 0 f32[16], %k: weight 1 "
                  "f32[32]):\n{}  return ({})\n",
                  body, outputs));
}

// Nodes that depend on weights only, unless the model changes one.
inline std::vector<bool> random_constants(const Graph& graph, const Pick& pick) {
  std::vector<bool> constant(graph.nodes.size(), false);
  for (const Output& output : graph.outputs)
    if (output.kind == OutputKind::buffer_mutation) return constant;
  if (pick(3) == 0) return constant;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    constant[i] = true;
    for (const ValueId input : node_inputs(graph.nodes[i])) {
      const Value& value = graph.value(input);
      const bool folded =
          value.kind == ValueKind::node && constant[static_cast<std::size_t>(value.producer)];
      if (value.kind != ValueKind::weight && !folded) constant[i] = false;
    }
  }
  return constant;
}

// A random valid order with some nodes run twice.
inline Schedule random_schedule(const Graph& graph, const std::vector<bool>& constant,
                                const Pick& pick) {
  Schedule schedule = whole_schedule(graph, constant);
  std::vector<NodeId> left = flat_order(schedule), order;
  std::set<NodeId> done(schedule.once.begin(), schedule.once.end());
  while (!left.empty()) {
    std::vector<NodeId> ready;
    for (const NodeId node : left) {
      bool ok = true;
      for (const ValueId input : node_inputs(graph.node(node))) {
        const NodeId producer = graph.value(input).producer;
        ok = ok && (producer == kNone || done.contains(producer));
      }
      if (ok) ready.push_back(node);
    }
    const NodeId node = ready[static_cast<std::size_t>(pick(static_cast<int>(ready.size())))];
    order.push_back(node);
    done.insert(node);
    std::erase(left, node);
    if (pick(5) == 0)
      order.push_back(order[static_cast<std::size_t>(pick(static_cast<int>(order.size())))]);
  }
  schedule.body = {ScheduleItem{Stage{order}}};
  return schedule;
}

}  // namespace lowwater
