// check_schedule: a schedule against its graph.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plan/schedule.h"

namespace lowwater {
namespace {

class Checker {
 public:
  Checker(const Graph& graph, const std::vector<bool>& random)
      : graph_(graph),
        random_(random),
        runs_(graph.nodes.size(), 0),
        made_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.values.size(); ++i)
      made_[i] = graph.values[i].kind == ValueKind::weight;
  }

  std::vector<std::string> run(const Schedule& schedule) {
    in_once_ = true;
    for (const NodeId node : schedule.once) visit(node);
    in_once_ = false;
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].kind == ValueKind::input) made_[i] = true;
    }
    visit(schedule.body);
    check_complete();
    return std::move(problems_);
  }

 private:
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  std::string name(NodeId id) const { return fmt::format("node {} ({})", id, graph_.node(id).op); }

  void visit(const std::vector<ScheduleItem>& items) {
    for (const ScheduleItem& item : items) {
      if (const auto* stage = std::get_if<Stage>(&item.item)) {
        for (const NodeId node : stage->nodes) visit(node);
        continue;
      }
      const auto& loops = std::get<std::vector<Loop>>(item.item);
      if (loops.size() != 1) report("a loop item holds {} loops instead of one", loops.size());
      for (const Loop& loop : loops) visit(loop);
    }
  }

  void visit(const Loop& loop) {
    check_axis(loop);
    if (loop.body.empty()) report("a loop has an empty body");
    ++depth_;
    visit(loop.body);
    --depth_;
  }

  void check_axis(const Loop& loop) {
    if (loop.axis_value < 0 || static_cast<std::size_t>(loop.axis_value) >= graph_.values.size()) {
      report("a loop cuts value {}, which does not exist", loop.axis_value);
      return;
    }
    const Value& value = graph_.value(loop.axis_value);
    const auto rank = static_cast<std::int32_t>(value.type.sizes.size());
    if (value.type.kind != TypeKind::tensor || loop.axis < 0 || loop.axis >= rank) {
      report("a loop cuts axis {} of %{}, which has {} axes", loop.axis, value.name, rank);
      return;
    }
    const std::int64_t extent = value.type.sizes[static_cast<std::size_t>(loop.axis)];
    if (loop.tile < 1 || loop.tile > extent) {
      report("a loop cuts axis {} of %{} in tiles of {}; its extent is {}", loop.axis, value.name,
             loop.tile, extent);
    }
  }

  void visit(NodeId id) {
    if (id < 0 || static_cast<std::size_t>(id) >= graph_.nodes.size()) {
      report("node {} does not exist", id);
      return;
    }
    const Node& node = graph_.node(id);
    for (const ValueId input : node_inputs(node)) {
      if (!made_[static_cast<std::size_t>(input)]) {
        report("{} reads %{} before it is made", name(id), graph_.value(input).name);
      }
    }
    ++runs_[static_cast<std::size_t>(id)];
    if (node.barrier || is_random(id)) check_ordered(id);
    if (!in_once_) check_barriers(id);
    for (const ValueId output : node.outputs) {
      if (output != kNone) made_[static_cast<std::size_t>(output)] = true;
    }
  }

  bool is_random(NodeId id) const {
    return !random_.empty() && random_[static_cast<std::size_t>(id)];
  }

  // What must run exactly once, whole, in the order of the graph.
  void check_ordered(NodeId id) {
    const char* what = graph_.node(id).barrier ? "a barrier" : "random";
    if (in_once_)
      report("{} is {} and stands among the steps that run once per session", name(id), what);
    if (depth_ > 0) report("{} is {} and stands inside a loop", name(id), what);
    if (runs_[static_cast<std::size_t>(id)] > 1)
      report("{} is {} and runs more than once", name(id), what);
    if (id < last_ordered_)
      report("{} is {} and runs after {}", name(id), what, name(last_ordered_));
    last_ordered_ = id;
  }

  // Nothing moves across a barrier: what stands before it in the graph runs
  // before it, what stands after it runs after it.
  void check_barriers(NodeId id) {
    if (id < last_barrier_) report("{} runs after the barrier {}", name(id), name(last_barrier_));
    if (graph_.node(id).barrier) {
      if (id < furthest_) report("{} runs before the barrier {}", name(furthest_), name(id));
      last_barrier_ = id;
    }
    furthest_ = std::max(furthest_, id);
  }

  void check_complete() {
    const std::vector<bool> needed = needed_nodes(graph_);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] && runs_[i] == 0)
        report("{} is needed and absent", name(static_cast<NodeId>(i)));
    }
  }

  const Graph& graph_;
  const std::vector<bool>& random_;
  std::vector<int> runs_;   // by NodeId: how often it ran so far
  std::vector<bool> made_;  // by ValueId: has an instance
  bool in_once_ = false;
  int depth_ = 0;
  NodeId last_ordered_ = kNone;
  NodeId last_barrier_ = kNone;
  NodeId furthest_ = kNone;  // the largest node that ran in the body
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_schedule(const Graph& graph, const Schedule& schedule,
                                        const std::vector<bool>& random) {
  return Checker(graph, random).run(schedule);
}

}  // namespace lowwater
