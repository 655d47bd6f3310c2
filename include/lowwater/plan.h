// What lowwater decided, for people and programs to read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lowwater {

// A value that is live at the peak.
struct PeakValue {
  std::string name;    // in the graph
  std::string source;  // "model.py:42 in forward (layer1)"
  std::int64_t bytes = 0;
};

// How long one part of planning took.
struct PlanTiming {
  std::string stage;  // "archive", "import", "rewrites", "facts", "search", "choose" ...
  double ms = 0;
};

struct PlanDetails;  // schedule, program: private

struct Plan {
  bool fits = false;
  std::string basis;  // "measured", "profile", "estimated"
  std::string scope;  // "process", "session", "tensors"
  std::string device;
  std::int64_t budget_bytes = 0;
  std::int64_t peak_bytes = 0;           // predicted, tensors scope
  std::int64_t process_peak_bytes = 0;   // predicted, whole process on the device (0 on the CPU)
  std::int64_t outside_arena_bytes = 0;  // weights, inputs, outputs, constants
  std::int64_t arena_bytes = 0;
  std::int64_t lower_bound_bytes = 0;      // of the arena: no packing can be smaller
  std::int64_t smallest_budget_bytes = 0;  // in the plan's scope
  std::int64_t unplanned_peak_bytes = 0;   // eager, every value freed at its last use
  double predicted_ms = 0, unplanned_ms = 0;
  std::string exactness = "same-kernels";
  std::vector<std::string> moves;
  std::vector<std::string> stages;  // one line each
  std::vector<PeakValue> barriers;  // operators that cannot be cut, with their bytes
  std::string peak_op, peak_source;
  std::vector<PeakValue> peak_values;  // largest first; the culprits where it does not fit
  std::int64_t peak_temporary_bytes = 0;
  std::vector<PlanTiming> timings;  // in order; empty for a stored plan

  std::shared_ptr<const PlanDetails> details;  // null where it does not fit
};

// Keys as in docs/cli.md; they only ever get added. Bytes are integers.
std::string plan_to_json(const Plan& plan);
// For a terminal: MiB and GiB, "~" before estimated figures.
std::string plan_to_text(const Plan& plan);

}  // namespace lowwater
