// Plans as files: everything that executing one elsewhere needs, and what it was
// made for.
#include <nlohmann/json.hpp>

#include "exec/device.h"
#include "exec/environment.h"
#include "lowwater/error.h"
#include "plan/json.h"
#include "plan/verify.h"
#include "session_plan.h"

namespace lowwater {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

// Visits what a Plan says of itself, for writing and for reading.
template <typename PlanType, typename Visitor>
void visit_figures(PlanType& plan, Visitor&& visit) {
  visit("basis", plan.basis);
  visit("scope", plan.scope);
  visit("budget_bytes", plan.budget_bytes);
  visit("peak_bytes", plan.peak_bytes);
  visit("process_peak_bytes", plan.process_peak_bytes);
  visit("outside_arena_bytes", plan.outside_arena_bytes);
  visit("arena_bytes", plan.arena_bytes);
  visit("lower_bound_bytes", plan.lower_bound_bytes);
  visit("smallest_budget_bytes", plan.smallest_budget_bytes);
  visit("unplanned_peak_bytes", plan.unplanned_peak_bytes);
  visit("predicted_ms", plan.predicted_ms);
  visit("unplanned_ms", plan.unplanned_ms);
  visit("exactness", plan.exactness);
  visit("moves", plan.moves);
  visit("stages", plan.stages);
  visit("barriers", plan.barriers);
  visit("peak_op", plan.peak_op);
  visit("peak_source", plan.peak_source);
  visit("peak_values", plan.peak_values);
  visit("peak_temporary_bytes", plan.peak_temporary_bytes);
}

json describe_origin(const SessionCore& core) {
  return {{"format", kFormat},
          {"lowwater", version()},
          {"model", core.archive.fingerprint()},
          {"device", core.device.is_cpu() ? "cpu" : "cuda"},
          {"environment", environment_key(core.device)},
          {"disabled", core.options.disabled}};
}

// Every entry of the origin must be the same here.
void check_origin(const json& stored, const SessionCore& core) {
  const json here = describe_origin(core);
  for (const auto& [key, value] : here.items()) {
    const auto found = stored.find(key);
    if (found != stored.end() && *found == value) continue;
    const std::string was = found == stored.end() ? "nothing" : found->dump();
    throw Error(ErrorKind::bad_input,
                "it was made for another " + key + " (" + was + ", here " + value.dump() + ")",
                "the stored plan", "make a new one with `lowwater plan -o`");
  }
}

}  // namespace

// Named by nlohmann::json.
static void to_json(json& out, const PeakValue& value) {
  out = {{"name", value.name}, {"source", value.source}, {"bytes", value.bytes}};
}
static void from_json(const json& in, PeakValue& value) {
  value = {in.at("name").get<std::string>(), in.at("source").get<std::string>(),
           in.at("bytes").get<std::int64_t>()};
}

std::string stored_plan(const SessionCore& core, const PlannedShape& planned) {
  if (!planned.plan.details) {
    throw Error(ErrorKind::does_not_fit, "there is no plan to store: nothing fits the budget");
  }
  json out = describe_origin(core);
  out["shapes"] = planned.shapes;
  json figures;
  visit_figures(planned.plan, [&](const char* name, const auto& value) { figures[name] = value; });
  out["figures"] = std::move(figures);
  out["program"] = json::parse(program_to_json(planned.plan.details->program));
  return out.dump();
}

std::unique_ptr<PlannedShape> adopt_plan(SessionCore& core, const std::string& text) {
  auto planned = std::make_unique<PlannedShape>();
  PlanDetails details;
  try {
    const json stored = json::parse(text);
    check_origin(stored, core);
    stored.at("shapes").get_to(planned->shapes);
    const json& figures = stored.at("figures");
    visit_figures(planned->plan,
                  [&](const char* name, auto& value) { figures.at(name).get_to(value); });
    details.program = program_from_json(stored.at("program").dump());
  } catch (const json::exception& error) {
    throw Error(ErrorKind::bad_input, std::string("it is not a plan: ") + error.what(),
                "the stored plan");
  }
  planned->graph = prepare_graph(core, planned->shapes);
  const std::vector<Violation> violations = verify_program(planned->graph, details.program);
  if (!violations.empty()) {
    throw Error(ErrorKind::bad_input, "it is not sound: " + violations.front().what,
                "the stored plan");
  }
  planned->plan.fits = true;
  planned->plan.device = core.options.device;
  planned->plan.details = std::make_shared<const PlanDetails>(std::move(details));
  return planned;
}

}  // namespace lowwater
