// The running half of a session. Private to session*.cc.
#pragma once

#include <vector>

#include "session_state.h"

namespace lowwater {

// The plan for these sizes: a known one, or a new one. Throws Error(does_not_fit).
const PlannedShape& plan_for(SessionCore& core, const InputShapes& shapes);

RunResult run_planned(SessionCore& core, const PlannedShape& planned,
                      const std::vector<TensorView>& inputs);

// Node by node, without a plan. Mutated buffers are those of the earlier runs of
// this kind, so that planned and unplanned runs can be compared one to one.
RunResult run_as_exported(SessionCore& core, const InputShapes& shapes,
                          const std::vector<TensorView>& inputs);

}  // namespace lowwater
