// Plan -> JSON. Keys as in docs/cli.md; they only ever get added.
#include <cmath>
#include <nlohmann/json.hpp>

#include "lowwater/plan.h"

namespace lowwater {
namespace {

using nlohmann::ordered_json;

ordered_json write_values(const std::vector<PeakValue>& values) {
  ordered_json list = ordered_json::array();
  for (const PeakValue& value : values) {
    list.push_back({{"name", value.name}, {"source", value.source}, {"bytes", value.bytes}});
  }
  return list;
}

// JSON has no infinity and no NaN.
ordered_json write_ms(double ms) {
  return std::isfinite(ms) ? ordered_json(ms) : ordered_json(nullptr);
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  ordered_json object = {{"fits", plan.fits},
                         {"basis", plan.basis},
                         {"device", plan.device},
                         {"scope", plan.scope},
                         {"budget_bytes", plan.budget_bytes},
                         {"peak_bytes", plan.peak_bytes},
                         {"process_peak_bytes", plan.process_peak_bytes},
                         {"outside_arena_bytes", plan.outside_arena_bytes},
                         {"arena_bytes", plan.arena_bytes},
                         {"lower_bound_bytes", plan.lower_bound_bytes},
                         {"smallest_budget_bytes", plan.smallest_budget_bytes},
                         {"unplanned_peak_bytes", plan.unplanned_peak_bytes},
                         {"predicted_ms", write_ms(plan.predicted_ms)},
                         {"unplanned_ms", write_ms(plan.unplanned_ms)},
                         {"exactness", plan.exactness},
                         {"moves", plan.moves},
                         {"stages", plan.stages},
                         {"barriers", write_values(plan.barriers)},
                         {"peak",
                          {{"op", plan.peak_op},
                           {"source", plan.peak_source},
                           {"values", write_values(plan.peak_values)},
                           {"temporary_bytes", plan.peak_temporary_bytes}}}};
  if (!plan.fits) object["culprits"] = write_values(plan.peak_values);
  for (const PlanTiming& timing : plan.timings)
    object["timings_ms"][timing.stage] = write_ms(timing.ms);
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace lowwater
