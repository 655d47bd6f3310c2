// The fast liveness against lowering, and the search on random graphs.
#include "plan/liveness.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/json.h"
#include "plan/search.h"
#include "random_schedule.h"

namespace lowwater {
namespace {

Pick drawing() {
  return [](int limit) { return *rc::gen::inRange(0, limit); };
}

struct Setting {
  Graph graph;
  WeightTable weights;
  FakeCosts costs{kRandomGraphRules};
  std::vector<bool> constant;
  LowerOptions options;
  Facts facts;

  explicit Setting(const Pick& pick) : graph(random_graph(pick)), weights(weights_of(graph)) {
    constant = random_constants(graph, pick);
    options.io = pick(2) == 0 ? IoPlace::device : IoPlace::host;
    options.share_addresses = pick(4) != 0;
    facts = collect_facts(graph, weights, costs);
  }
};

RC_GTEST_PROP(LivenessProperty, AgreesWithLowering, ()) {
  const Pick pick = drawing();
  Setting s(pick);
  const Schedule schedule = random_schedule(s.graph, s.constant, pick);
  RC_LOG() << print_graph(s.graph) << print_schedule(s.graph, schedule);
  RC_ASSERT(check_schedule(s.graph, schedule).empty());
  Program program = lower(s.graph, s.weights, schedule, s.facts, s.costs, s.options);
  const Bytes bound = liveness_bound(program);
  plan_addresses(program);
  const ScopeBytes bytes = scope_bytes(program, s.weights);
  const Liveness live =
      LivenessModel(s.graph, s.weights, s.facts, s.costs, s.options).run(schedule);
  RC_LOG() << print_program(program);
  RC_ASSERT(live.arena == bound);
  RC_ASSERT(live.constants == bytes.constants);
  RC_ASSERT(live.weights == bytes.weights);
  RC_ASSERT(live.inputs == bytes.inputs);
  RC_ASSERT(live.outputs == bytes.outputs);
  double ms = 0;
  for_each_step(program.steps, [&](const Step& step) {
    if (const auto* launch = std::get_if<Launch>(&step)) ms += launch->ms;
  });
  RC_ASSERT(std::abs(live.ms - ms) < 1e-9);
}

RC_GTEST_PROP(SearchProperty, FrontierIsSoundAndSorted, ()) {
  const Pick pick = drawing();
  Setting s(pick);
  SearchOptions options;
  options.random.assign(s.graph.nodes.size(), false);
  for (std::size_t i = 0; i < options.random.size(); ++i)
    options.random[i] = !s.constant[i] && pick(8) == 0;
  const auto frontier =
      search(s.graph, s.weights, s.facts, s.constant, s.costs, s.options, options);
  RC_LOG() << print_graph(s.graph);
  RC_ASSERT(!frontier.empty());
  for (std::size_t i = 0; i < frontier.size(); ++i) {
    const Candidate& point = frontier[i];
    RC_LOG() << print_schedule(s.graph, point.schedule);
    RC_ASSERT(check_schedule(s.graph, point.schedule, options.random).empty());
    if (i > 0) RC_ASSERT(point.peak < frontier[i - 1].peak);
    if (i > 0) RC_ASSERT(point.ms >= frontier[i - 1].ms);
    const Program program = lower(s.graph, s.weights, point.schedule, s.facts, s.costs, s.options);
    RC_ASSERT(point.peak >= liveness_bound(program));
  }
  const auto again = search(s.graph, s.weights, s.facts, s.constant, s.costs, s.options, options);
  RC_ASSERT(again.size() == frontier.size());
  for (std::size_t i = 0; i < again.size(); ++i)
    RC_ASSERT(again[i].schedule == frontier[i].schedule);
}

// The number in a refusal is what fits; one byte less is refused with the same number.
RC_GTEST_PROP(SearchProperty, RefusalNamesTheSmallestBudget, ()) {
  const Pick pick = drawing();
  Setting s(pick);
  const auto frontier = search(s.graph, s.weights, s.facts, s.constant, s.costs, s.options);
  const auto at = [&](Bytes budget) {
    return choose(s.graph, s.weights, s.facts, s.costs, s.options, frontier, budget);
  };
  RC_LOG() << print_graph(s.graph);
  const auto refused = at(1);
  RC_ASSERT(std::holds_alternative<NoFit>(refused));
  const Bytes needed = std::get<NoFit>(refused).needed;
  const auto fits = at(needed);
  RC_ASSERT(std::holds_alternative<PlannedPoint>(fits));
  RC_ASSERT(std::get<PlannedPoint>(fits).bytes.total() <= needed);
  const auto less = at(needed - 1);
  RC_ASSERT(std::holds_alternative<NoFit>(less));
  RC_ASSERT(std::get<NoFit>(less).needed == needed);
}

}  // namespace
}  // namespace lowwater
