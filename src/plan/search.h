// The search: from the fastest schedule towards smaller peaks by moves; the
// result is the Pareto frontier (peak, time), independent of the budget.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "analysis/facts.h"
#include "plan/liveness.h"
#include "plan/lower.h"
#include "plan/program.h"
#include "plan/schedule.h"

namespace lowwater {

// What a move may look at.
struct MoveContext {
  const Graph& graph;
  const WeightTable& weights;
  const Facts& facts;
  CostProvider& costs;
  const LowerOptions& lower;
  const LivenessModel& model;       // what a schedule would need, in microseconds
  const std::vector<bool>& random;  // by NodeId: see SearchOptions
  // Bytes above which a step counts as excess; the move is to lower the sum of
  // excess over all steps.
  Bytes target = 0;
};

// A schedule with its score.
struct Candidate {
  Schedule schedule;
  Bytes peak = 0;                  // liveness bound of the whole tensors scope (see Frontier)
  Bytes excess = 0;                // sum over steps of bytes above the target
  double ms = 0;                   // predicted
  std::vector<std::string> moves;  // names of the moves that led here
};

// Proposes better schedules than `from`, best first; may return none.
using MoveFn = std::vector<Schedule> (*)(const MoveContext& context, const Candidate& from);

struct Move {
  std::string_view name;     // "reorder", "recompute"
  std::string_view summary;  // one line for docs
  bool changes_time = false;
  MoveFn propose;
};

// In the order in which the driver tries them. One file each in plan/moves/.
const std::vector<Move>& move_table();

// By NodeId: the operator draws random numbers, or nobody knows whether it
// does. Such nodes run exactly once and keep their order.
std::vector<bool> random_nodes(const Graph& graph, const SchemaTable& schemas);

struct SearchOptions {
  std::vector<bool> random;  // of random_nodes; empty: none is
  double max_slowdown =
      0;  // 0: no limit; else points slower than this times the fastest are dropped
  double time_limit_ms = 5000;
  std::set<std::string> disabled;  // names of moves to leave out
  std::function<bool()> interrupted;
};

// The frontier, from the fastest (largest peak) to the smallest. Never empty.
// `peak` counts arena, constant space, weights, inputs and outputs.
std::vector<Candidate> search(const Graph& graph, const WeightTable& weights, const Facts& facts,
                              const std::vector<bool>& constant, CostProvider& costs,
                              const LowerOptions& lower, const SearchOptions& options = {});

// Bytes by place, of one program: what the tensors scope sums.
struct ScopeBytes {
  Bytes arena = 0, constants = 0, weights = 0, inputs = 0, outputs = 0;
  [[nodiscard]] Bytes total() const { return arena + constants + weights + inputs + outputs; }
};
ScopeBytes scope_bytes(const Program& program, const WeightTable& weights);

// One value that is live at the peak.
struct Culprit {
  std::string value, source;
  Bytes bytes = 0;
};

// A planned point of the frontier: lowered, packed, verified.
struct PlannedPoint {
  Candidate candidate;
  Program program;
  AddressReport addresses;
  ScopeBytes bytes;
};

// "Does not fit" is a value.
struct NoFit {
  Bytes needed = 0;  // smallest_budget
  Bytes budget = 0;
  std::string peak_op, peak_source;
  std::vector<Culprit> culprits;
};

// The fastest point of `frontier` whose packed, verified total is at most
// `budget`. Throws Error(internal) if verification fails: a plan that is not
// proven is never returned.
std::variant<PlannedPoint, NoFit> choose(const Graph& graph, const WeightTable& weights,
                                         const Facts& facts, CostProvider& costs,
                                         const LowerOptions& lower,
                                         const std::vector<Candidate>& frontier, Bytes budget);

// Which step peaks and what is live there, largest first.
struct PeakReport {
  NodeId node = kNone;
  Bytes temporary_bytes = 0;
  std::vector<Culprit> values;
};
PeakReport explain_peak(const Graph& graph, const Program& program);

}  // namespace lowwater
