// One step, run and written down inside a slab.
#pragma once

#include <optional>

#include "analysis/step.h"
#include "exec/recorder.h"
#include "exec/slab.h"

namespace lowwater {

struct MeasureOptions {
  Bytes alignment = 64;
  Bytes workspace_cap = 0;
};

// Inputs, outputs and temporaries lie in `slab`. nullopt: they do not fit.
// Throws Error(unsupported) with the first line of what the operator says.
// Under InferenceMode.
std::optional<StepRecord> measure_step(const StepSpec& spec, Slab& slab,
                                       const MeasureOptions& options);

// Runs the step once and forgets the result; false: it does not fit.
bool warm_up_step(const StepSpec& spec, Slab& slab, const MeasureOptions& options);

}  // namespace lowwater
