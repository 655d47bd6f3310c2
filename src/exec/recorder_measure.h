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
  bool repeat = true;  // a second timing where the first call already tells the allocations
};

struct Measurement {
  StepRecord record;
  // The slab refused an allocation, and the operator found another way: what
  // was recorded holds for slabs of this size.
  bool slab_was_full = false;
};

// Inputs, outputs and temporaries lie in `slab`. nullopt: they do not fit.
// Throws Error(unsupported) with the first line of what the operator says.
// Under InferenceMode.
std::optional<Measurement> measure_step(const StepSpec& spec, Slab& slab,
                                        const MeasureOptions& options);

// The same from a single call, which on CUDA may not be typical yet.
std::optional<Measurement> warm_up_step(const StepSpec& spec, Slab& slab,
                                        const MeasureOptions& options);

// A call at packed addresses by the script of `known`: needs no more than the
// inputs and the script's peak. False: does not fit, or the step did otherwise.
bool replay_step(const StepSpec& spec, const StepRecord& known, Slab& slab,
                 const MeasureOptions& options);

}  // namespace lowwater
