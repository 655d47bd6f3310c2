// From the frontier to one program: lowered, packed, verified.
#include <algorithm>
#include <limits>

#include "lowwater/error.h"
#include "plan/search.h"
#include "plan/verify.h"

namespace lowwater {
namespace {

// Long enough that the packer's node limit strikes first: equal inputs give equal plans.
constexpr double kPackMs = 5000;

PlannedPoint plan_point(const Graph& graph, const WeightTable& weights, const Facts& facts,
                        CostProvider& costs, const LowerOptions& options,
                        const Candidate& candidate) {
  PlannedPoint point{
      candidate, lower(graph, weights, candidate.schedule, facts, costs, options), {}, {}};
  point.addresses = plan_addresses(point.program, kPackMs);
  point.bytes = scope_bytes(point.program, weights);
  return point;
}

PlannedPoint verified(const Graph& graph, PlannedPoint point) {
  const std::vector<Violation> violations = verify_program(graph, point.program);
  if (!violations.empty())
    throw Error(ErrorKind::internal, "the plan is not sound: " + violations.front().what, {},
                "please report this");
  return point;
}

NoFit refuse(const Graph& graph, const PlannedPoint& smallest, Bytes budget) {
  const PeakReport peak = explain_peak(graph, smallest.program);
  NoFit refusal{smallest.bytes.total(), budget, {}, {}, peak.values};
  if (peak.node != kNone)
    refusal.peak_op = graph.node(peak.node).op, refusal.peak_source = graph.where(peak.node);
  return refusal;
}

// Buffers that live only at times, in the order in which `steps` make them.
class PeakFinder {
 public:
  explicit PeakFinder(const Program& program) : program_(program) {
    for_each_step(program.steps, [&](const Step& step) {
      if (const auto* launch = std::get_if<Launch>(&step)) {
        for (const ScriptEvent& event : launch->script)
          tick(launch->node, event.is_alloc ? event.buffer : kNone);
      } else if (const auto* copy = std::get_if<Copy>(&step)) {
        tick(kNone, program.slots[static_cast<std::size_t>(copy->to)].buffer);
      } else if (std::holds_alternative<Release>(step)) {
        tick(kNone, kNone);
      }
    });
  }

  // The tick at which most arena bytes are live.
  [[nodiscard]] Tick peak() const {
    std::vector<Bytes> change(nodes_.size() + 1, 0);
    for (const BufferId id : made_) {
      const Buffer& buffer = at(id);
      if (buffer.space != Space::arena || buffer.begin >= buffer.end) continue;
      change[static_cast<std::size_t>(buffer.begin)] += align_up(buffer.size, program_.alignment);
      change[static_cast<std::size_t>(buffer.end)] -= align_up(buffer.size, program_.alignment);
    }
    Bytes live = 0, most = -1;
    Tick when = 0;
    for (std::size_t t = 0; t < nodes_.size(); ++t)
      if ((live += change[t]) > most) most = live, when = static_cast<Tick>(t);
    return when;
  }

  [[nodiscard]] NodeId node_at(Tick tick) const {
    return nodes_.empty() ? kNone : nodes_[static_cast<std::size_t>(tick)];
  }
  [[nodiscard]] const std::vector<BufferId>& made() const { return made_; }

 private:
  const Buffer& at(BufferId id) const { return program_.buffers[static_cast<std::size_t>(id)]; }

  void tick(NodeId node, BufferId made) {
    nodes_.push_back(node);
    if (made != kNone && at(made).space == Space::arena) made_.push_back(made);
  }

  const Program& program_;
  std::vector<NodeId> nodes_;  // by tick: whose script it belongs to
  std::vector<BufferId> made_;
};

Culprit culprit_of(const Graph& graph, const Buffer& buffer) {
  Culprit culprit{"", "", buffer.size};
  if (buffer.value != kNone) culprit.value = graph.value(buffer.value).name;
  if (buffer.node != kNone)
    culprit.source = graph.where(buffer.node);
  else if (buffer.kind == BufferKind::weight)
    culprit.source = "weight";
  else
    culprit.source = "input";
  return culprit;
}

}  // namespace

ScopeBytes scope_bytes(const Program& program, const WeightTable& weights) {
  ScopeBytes bytes{.arena = program.arena_bytes, .constants = program.constant_bytes};
  for (const Buffer& buffer : program.buffers) {
    if (buffer.space == Space::weight)
      bytes.weights += weights.storages[static_cast<std::size_t>(buffer.index)].size;
    if (buffer.space == Space::input) bytes.inputs += buffer.size;
    if (buffer.space == Space::output) bytes.outputs += buffer.size;
  }
  return bytes;
}

PeakReport explain_peak(const Graph& graph, const Program& program) {
  const PeakFinder finder(program);
  const Tick when = finder.peak();
  PeakReport report;
  report.node = finder.node_at(when);
  for (const BufferId id : finder.made()) {
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(id)];
    if (buffer.begin > when || when >= buffer.end) continue;
    if (buffer.kind == BufferKind::temporary)
      report.temporary_bytes += buffer.size;
    else
      report.values.push_back(culprit_of(graph, buffer));
  }
  for (const Buffer& buffer : program.buffers) {  // what always lives
    if (buffer.space != Space::arena && buffer.space != Space::host && buffer.size > 0)
      report.values.push_back(culprit_of(graph, buffer));
  }
  std::stable_sort(report.values.begin(), report.values.end(),
                   [](const Culprit& a, const Culprit& b) { return a.bytes > b.bytes; });
  return report;
}

std::variant<PlannedPoint, NoFit> choose(const Graph& graph, const WeightTable& weights,
                                         const Facts& facts, CostProvider& costs,
                                         const LowerOptions& options,
                                         const std::vector<Candidate>& frontier, Bytes budget) {
  const auto plan = [&](const Candidate& candidate) {
    return plan_point(graph, weights, facts, costs, options, candidate);
  };
  for (const Candidate& candidate : frontier) {  // the peak is a bound on the packed total
    if (candidate.peak > budget) continue;
    PlannedPoint point = plan(candidate);
    if (point.bytes.total() <= budget) return verified(graph, std::move(point));
  }
  // The smallest packed total; what is not below it by its bound need not be packed.
  std::optional<PlannedPoint> smallest;
  for (auto candidate = frontier.rbegin(); candidate != frontier.rend(); ++candidate) {
    if (smallest && candidate->peak >= smallest->bytes.total()) continue;
    PlannedPoint point = plan(*candidate);
    if (!smallest || point.bytes.total() < smallest->bytes.total()) smallest = std::move(point);
  }
  if (!smallest) throw Error(ErrorKind::internal, "the frontier is empty", "choose");
  return refuse(graph, verified(graph, std::move(*smallest)), budget);
}

}  // namespace lowwater
