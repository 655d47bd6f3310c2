#include "plan/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ops/op_table.h"

namespace lowwater {
namespace {

const char* basis_name(Basis basis) {
  constexpr const char* kNames[] = {"measured", "profile", "estimated"};
  return kNames[static_cast<std::size_t>(basis)];
}

double node_ms(const Facts& facts, NodeId id) {
  const StepRecord* record = facts.nodes[static_cast<std::size_t>(id)];
  return record != nullptr ? record->ms : 0;
}

// Inputs and weights that a run reads or writes back: their whole storages.
Bytes source_bytes(const Graph& graph, const Facts& facts, const std::vector<bool>& needed) {
  std::vector<bool> used(facts.storages.size(), false);
  const auto use = [&](ValueId value) {
    const StorageId storage = facts.values[static_cast<std::size_t>(value)].storage;
    if (storage != kNone) used[static_cast<std::size_t>(storage)] = true;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    for (const ValueId input : node_inputs(graph.nodes[i])) use(input);
  }
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value, [&](const Ref& ref) { use(ref.id); });
  }
  Bytes bytes = 0;
  for (std::size_t i = 0; i < facts.storages.size(); ++i) {
    if (used[i] && facts.storages[i].owner != Storage::Owner::node) bytes += facts.storages[i].size;
  }
  return bytes;
}

class StageWriter {
 public:
  StageWriter(const Graph& graph, const Facts& facts) : graph_(graph), facts_(facts) {}

  void add(const std::string& indent, const char* when, const std::vector<NodeId>& nodes) {
    if (nodes.empty()) return;
    double ms = 0;
    for (const NodeId node : nodes) ms += node_ms(facts_, node);
    const std::string range =
        nodes.size() == 1 ? name(nodes.front()) : name(nodes.front()) + " to " + name(nodes.back());
    lines_.push_back(fmt::format("{}{} {}{}, {}, {:.3g} ms", indent, nodes.size(),
                                 nodes.size() == 1 ? "operator" : "operators", when, range, ms));
  }

  void add(const std::vector<ScheduleItem>& items, const std::string& indent) {
    for (const ScheduleItem& item : items) {
      if (const auto* stage = std::get_if<Stage>(&item.item)) {
        add(indent, "", stage->nodes);
        continue;
      }
      for (const Loop& loop : std::get<std::vector<Loop>>(item.item)) {
        lines_.push_back(indent + print_loop(graph_, loop));
        add(loop.body, indent + "  ");
      }
    }
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::string name(NodeId id) const {
    const Node& node = graph_.node(id);
    for (const ValueId output : node.outputs) {
      if (output != kNone) return "%" + graph_.value(output).name;
    }
    return node.op;
  }

  const Graph& graph_;
  const Facts& facts_;
  std::vector<std::string> lines_;
};

bool has_loop(const Schedule& schedule) {
  return std::any_of(schedule.body.begin(), schedule.body.end(), [](const ScheduleItem& item) {
    return std::holds_alternative<std::vector<Loop>>(item.item);
  });
}

// Operators that always run whole: unknown to the operator table, or not pure.
// The bytes are those of the tensors that they make.
std::vector<PeakValue> find_barriers(const Graph& graph, const Facts& facts,
                                     const std::vector<bool>& needed) {
  std::vector<PeakValue> barriers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!needed[i] || is_scalar_op(node.op) || (!node.barrier && find_op(node.op) != nullptr))
      continue;
    const StepRecord* record = facts.nodes[i];
    Bytes bytes = 0;
    for (const StepOutput& output :
         record != nullptr ? record->outputs : std::vector<StepOutput>{}) {
      if (output.home == OutputHome::fresh) bytes += output.meta.extent_bytes();
    }
    barriers.push_back({node.op, graph.where(static_cast<NodeId>(i)), bytes});
  }
  std::stable_sort(barriers.begin(), barriers.end(),
                   [](const PeakValue& a, const PeakValue& b) { return a.bytes > b.bytes; });
  return barriers;
}

std::vector<PeakValue> peak_values(const std::vector<Culprit>& culprits) {
  std::vector<PeakValue> values;
  for (const Culprit& culprit : culprits)
    values.push_back({culprit.value, culprit.source, culprit.bytes});
  return values;
}

// What holds whichever schedule is chosen.
void fill_common(Plan& plan, const Graph& graph, const Facts& facts) {
  const UnplannedRun eager = unplanned_run(graph, facts);
  plan.unplanned_peak_bytes = eager.peak;
  plan.unplanned_ms = eager.ms;
  plan.basis = basis_name(facts.basis);
  plan.barriers = find_barriers(graph, facts, needed_nodes(graph));
}

}  // namespace

UnplannedRun unplanned_run(const Graph& graph, const Facts& facts) {
  const std::vector<bool> needed = needed_nodes(graph);
  UnplannedRun run{eager_footprint(graph, facts).peak + source_bytes(graph, facts, needed), 0};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (needed[i]) run.ms += node_ms(facts, static_cast<NodeId>(i));
  }
  return run;
}

std::vector<std::string> describe_stages(const Graph& graph, const Facts& facts,
                                         const Schedule& schedule) {
  StageWriter writer(graph, facts);
  writer.add("", " once per session", schedule.once);
  writer.add(schedule.body, "");
  return writer.take();
}

void fill_plan(Plan& plan, const Graph& graph, const WeightTable&, const Facts& facts,
               const PlannedPoint& point) {
  fill_common(plan, graph, facts);
  const Program& program = point.program;
  plan.peak_bytes = point.bytes.total();
  plan.arena_bytes = program.arena_bytes;
  plan.outside_arena_bytes = plan.peak_bytes - plan.arena_bytes;
  plan.lower_bound_bytes = point.addresses.lower_bound;
  plan.predicted_ms = point.candidate.ms;
  plan.exactness = has_loop(point.candidate.schedule) ? "same-mathematics" : "same-kernels";
  plan.moves = point.candidate.moves;
  plan.stages = describe_stages(graph, facts, point.candidate.schedule);
  const PeakReport peak = explain_peak(graph, program);
  if (peak.node != kNone) {
    plan.peak_op = graph.node(peak.node).op;
    plan.peak_source = graph.where(peak.node);
  }
  plan.peak_values = peak_values(peak.values);
  plan.peak_temporary_bytes = peak.temporary_bytes;
}

void fill_plan(Plan& plan, const Graph& graph, const WeightTable&, const Facts& facts,
               const NoFit& no_fit) {
  fill_common(plan, graph, facts);
  plan.peak_bytes = no_fit.needed;
  plan.peak_op = no_fit.peak_op;
  plan.peak_source = no_fit.peak_source;
  plan.peak_values = peak_values(no_fit.culprits);
}

}  // namespace lowwater
