// The public Plan's figures, from a planned point. The session adds what only
// the device knows (budget, scope, process bytes).
#pragma once

#include "analysis/facts.h"
#include "lowwater/plan.h"
#include "plan/search.h"

namespace lowwater {

void fill_plan(Plan& plan, const Graph& graph, const WeightTable& weights, const Facts& facts,
               const PlannedPoint& point);

// The same where nothing fits: what would be needed, and the values that set it.
void fill_plan(Plan& plan, const Graph& graph, const WeightTable& weights, const Facts& facts,
               const NoFit& no_fit);

// An eager run under inference_mode with every value freed at its last use:
// most live bytes, with the inputs and weights that it reads, and its time.
struct UnplannedRun {
  Bytes peak = 0;
  double ms = 0;
};
UnplannedRun unplanned_run(const Graph& graph, const Facts& facts);

// One line for each stage and loop: "  12 operators, %a to %z, 3.1 ms".
std::vector<std::string> describe_stages(const Graph& graph, const Facts& facts,
                                         const Schedule& schedule);

}  // namespace lowwater
