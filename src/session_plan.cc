// The planning half of a session: archive -> graph -> facts -> frontier -> plan.
#include "session_plan.h"

#include <utility>
#include <variant>

#include "analysis/facts.h"
#include "exec/recorder.h"
#include "lowwater/error.h"
#include "plan/figures.h"
#include "plan/search.h"
#include "rewrite/rewrite.h"
#include "session_timer.h"

namespace lowwater {
namespace {

Graph prepare_graph(const SessionCore& core, const InputShapes& shapes, StageTimer& timer) {
  Graph graph = import_graph(core.program, core.archive.weights(), core.schemas, shapes);
  timer.lap("import");
  run_rewrites(graph, {&core.archive.weights(), &core.schemas, &core.archive},
               core.options.disabled);
  timer.lap("rewrites");
  return graph;
}

RecorderOptions recorder_options(const SessionCore& core, const Budget& budget, Bytes limit) {
  RecorderOptions options;
  if (core.device.is_cuda() && budget.scope != Scope::tensors) {
    const bool session = budget.scope == Scope::session;
    options.process_limit = budget.total + (session ? core.budget_base.process_bytes : 0);
  }
  options.device = core.device;
  options.slab_limit = limit;
  options.workspace_cap = core.options.workspace_cap.value_or(0);
  options.time_limit_s = core.options.measure_time_s;
  return options;
}

SearchOptions search_options(const SessionCore& core, const Graph& graph) {
  SearchOptions options;
  options.random = random_nodes(graph, core.schemas);
  options.max_slowdown = core.options.max_slowdown;
  options.disabled = core.options.disabled;
  return options;
}

Progress progress_of(const SessionCore& core) {
  if (!core.options.progress) return {};
  return [&core](int done, int total) { return core.options.progress("measuring", done, total); };
}

// Device bytes of tensors that the session holds between runs.
Bytes held_bytes(const SessionCore& core) {
  return core.weights && core.device.is_cuda() ? core.weights->device_bytes() : 0;
}

// The part of a plan that only the session knows.
void add_budget(Plan& plan, const SessionCore& core, const Budget& budget, Bytes smallest) {
  plan.device = core.options.device;
  plan.scope = scope_name(budget.scope);
  plan.budget_bytes = budget.total;
  plan.smallest_budget_bytes = smallest + budget.overhead;
  if (core.device.is_cuda()) plan.process_peak_bytes = plan.peak_bytes + budget.overhead;
}

}  // namespace

Graph prepare_graph(const SessionCore& core, const InputShapes& shapes) {
  StageTimer timer;
  return prepare_graph(core, shapes, timer);
}

std::unique_ptr<PlannedShape> make_plan(SessionCore& core, const InputShapes& shapes) {
  StageTimer timer;
  auto planned =
      std::make_unique<PlannedShape>(PlannedShape{shapes, prepare_graph(core, shapes, timer), {}});
  const Graph& graph = planned->graph;
  const WeightTable& weights = core.archive.weights();
  const Bytes held = held_bytes(core);
  Budget budget = resolve_budget(core.options, core.device, core.budget_base, held);
  Recorder recorder(recorder_options(core, budget, budget.tensors() - held), core.store.get());
  timer.lap("budget");
  const Facts facts = collect_facts(graph, weights, recorder, progress_of(core));
  timer.lap("facts");

  const LowerOptions lower{.io = core.options.host_io && core.device.is_cuda() ? IoPlace::host
                                                                               : IoPlace::device};
  const std::vector<bool> constant = constant_nodes(graph, core.schemas, &weights);
  const std::vector<Candidate> frontier =
      search(graph, weights, facts, constant, recorder, lower, search_options(core, graph));
  timer.lap("search");
  measure_overhead(budget, core.device, core.budget_base, held + recorder.slab_bytes());
  const auto fit = [&](Bytes bytes) {
    return choose(graph, weights, facts, recorder, lower, frontier, bytes);
  };
  const NoFit smallest = std::get<NoFit>(fit(0));
  timer.lap("smallest");
  auto chosen = fit(budget.tensors());
  timer.lap("choose");
  if (auto* point = std::get_if<PlannedPoint>(&chosen)) {
    planned->plan.fits = true;
    fill_plan(planned->plan, graph, weights, facts, *point);
    planned->plan.details = std::make_shared<const PlanDetails>(
        PlanDetails{std::move(point->candidate.schedule), std::move(point->program)});
  } else {
    fill_plan(planned->plan, graph, weights, facts, std::get<NoFit>(chosen));
  }
  add_budget(planned->plan, core, budget, smallest.needed);
  timer.lap("figures");
  planned->plan.timings = std::exchange(core.open_timings, {});  // of the first plan only
  for (PlanTiming& timing : timer.take()) planned->plan.timings.push_back(std::move(timing));
  return planned;
}

}  // namespace lowwater
