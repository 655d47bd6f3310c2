// Each move alone, then the search, on graphs small enough to work out by hand.
#include <gtest/gtest.h>

#include "fake_costs.h"
#include "graph/text.h"
#include "plan/moves/instances.h"
#include "plan/search.h"

namespace lowwater {
namespace {

struct Bench {
  Graph graph;
  WeightTable weights;
  FakeCosts costs;
  Facts facts;
  LowerOptions options;
  LivenessModel model;
  std::vector<bool> random, constant;

  explicit Bench(const char* text, const std::string& rules = {})
      : graph(parse_graph(text)),
        weights(weights_of(graph)),
        costs(rules),
        facts(collect_facts(graph, weights, costs)),
        model(graph, weights, facts, costs, options),
        random(graph.nodes.size(), false),
        constant(graph.nodes.size(), false) {}

  Candidate start(Bytes target) {
    const Schedule schedule = whole_schedule(graph, constant);
    const Liveness live = model.run(schedule);
    target_ = target;
    return {schedule, live.total(), 0, live.ms, {"whole"}};
  }
  MoveContext context() { return {graph, weights, facts, costs, options, model, random, target_}; }
  std::vector<Candidate> frontier() {
    SearchOptions search_options;
    search_options.random = random;
    return search(graph, weights, facts, constant, costs, options, search_options);
  }
  std::variant<PlannedPoint, NoFit> fit(Bytes budget) {
    return choose(graph, weights, facts, costs, options, frontier(), budget);
  }

  // The lowest total among proposals, each of them sound.
  Bytes best(const std::vector<Schedule>& proposals) {
    Bytes least = INT64_MAX;
    for (const Schedule& schedule : proposals) {
      EXPECT_EQ(check_schedule(graph, schedule, random), std::vector<std::string>{})
          << print_schedule(graph, schedule);
      least = std::min(least, model.run(schedule).total());
    }
    return least;
  }

 private:
  Bytes target_ = 0;
};

// Three large values are made before the first is reduced to 64 bytes.
const char* kLateSums = R"(
graph(%x: f32[16]):
  %a: f32[1024] = aten::linear(%x, %x, None)
  %b: f32[1024] = aten::linear(%x, %x, None)
  %c: f32[1024] = aten::linear(%x, %x, None)
  %p: f32[16] = aten::mean.dim(%a, [0], False, None)
  %q: f32[16] = aten::mean.dim(%b, [0], False, None)
  %r: f32[16] = aten::mean.dim(%c, [0], False, None)
  %s: f32[16] = aten::cat([%p, %q, %r], 0)
  return (%s)
)";

TEST(Reorder, ReducesEachValueBeforeTheNextIsMade) {
  Bench bench(kLateSums);
  const Candidate from = bench.start(4096);
  EXPECT_EQ(from.peak, 3 * 4096 + 64 + 64 + 64);  // a, b, c, p; x; s
  EXPECT_EQ(bench.best(propose_reorder(bench.context(), from)),
            4096 + 3 * 64 + 64 + 64);  // c, p, q, r; x; s
}

TEST(Reorder, RandomNodesKeepTheirOrder) {
  Bench bench(kLateSums);
  bench.random[0] = bench.random[1] = bench.random[2] = true;
  EXPECT_EQ(bench.best(propose_reorder(bench.context(), bench.start(4096))),
            4096 + 3 * 64 + 64 + 64);
  Bench tied(R"(
graph(%x: f32[16]):
  %a: f32[1024] = aten::randn_like(%x)
  %b: f32[16] = aten::randn_like(%x)
  %c: f32[1024] = aten::linear(%x, %b, None)
  %d: f32[16] = aten::mean.dim(%c, [0], False, None)
  %e: f32[16] = aten::linear(%d, %a, None)
  return (%e)
)");
  tied.random = {true, true, false, false, false};
  const Candidate from = tied.start(0);
  for (const Schedule& schedule : propose_reorder(tied.context(), from)) {
    EXPECT_EQ(check_schedule(tied.graph, schedule, tied.random), std::vector<std::string>{});
  }
}

TEST(Reorder, NothingCrossesABarrier) {
  Bench bench(R"(
graph(%x: f32[16]):
  %a: f32[1024] = aten::linear(%x, %x, None)
  %b: f32[1024] = aten::linear(%x, %x, None)
  %s: f32[16] = foo::shout(%x) barrier
  %p: f32[16] = aten::mean.dim(%a, [0], False, None)
  %q: f32[16] = aten::mean.dim(%b, [0], False, None)
  return (%p, %q, %s)
)");
  const Candidate from = bench.start(4096);
  for (const Schedule& schedule : propose_reorder(bench.context(), from)) {
    EXPECT_EQ(check_schedule(bench.graph, schedule), std::vector<std::string>{});
    EXPECT_GE(bench.model.run(schedule).total(), 2 * 4096);
  }
}

// `a` is cheap and kept over a large detour that does not need it.
const char* kSkip = R"(
graph(%x: f32[16]):
  %a: f32[1024] = aten::relu(%x)
  %b: f32[16] = aten::mean.dim(%a, [0], False, None)
  %c: f32[2048] = aten::linear(%b, %b, None)
  %d: f32[16] = aten::mean.dim(%c, [0], False, None)
  %e: f32[16] = aten::linear(%d, %a, None)
  return (%e)
)";

TEST(Recompute, CheapValueIsMadeAgainAfterThePeak) {
  Bench bench(kSkip, "ms aten::relu 0.1");
  const Candidate from = bench.start(8192 + 64 + 64 + 64);
  EXPECT_EQ(from.peak, 4096 + 64 + 8192 + 64 + 64);  // a, b or d, c; x; e
  EXPECT_EQ(bench.best(propose_recompute(bench.context(), from)), 8192 + 64 + 64 + 64);
}

TEST(Recompute, NeverWhatIsRandomOrDear) {
  Bench random(kSkip);
  random.random[0] = true;
  EXPECT_TRUE(propose_recompute(random.context(), random.start(8192)).empty());
  std::string dear = kSkip;
  dear.replace(dear.find("aten::relu(%x)"), 14, "aten::linear(%x, %x, None)");
  Bench slow(dear.c_str());
  EXPECT_TRUE(propose_recompute(slow.context(), slow.start(8192)).empty());
}

TEST(Recompute, ChainsAndViewsAreMadeAgainTogether) {
  Bench bench(R"(
graph(%x: f32[16]):
  %a: f32[16] = aten::neg(%x)
  %f: f32[1024] = aten::relu(%a)
  %v: f32[32,32] = aten::view(%f, [32, 32])
  %b: f32[16] = aten::mean.dim(%v, [0], False, None)
  %c: f32[2048] = aten::linear(%b, %b, None)
  %d: f32[16] = aten::mean.dim(%c, [0], False, None)
  %e: f32[16] = aten::linear(%d, %v, None)
  return (%e)
)",
              "view aten::view");
  const Candidate from = bench.start(8192 + 64 + 64 + 64);
  EXPECT_EQ(bench.best(propose_recompute(bench.context(), from)), 8192 + 64 + 64 + 64);
}

TEST(Recompute, AFoldedConstantIsMadeInTheRun) {
  Bench bench(R"(
graph(%x: f32[16], %w: weight 0 f32[16]):
  %k: f32[1024] = aten::linear(%w, %w, None)
  %c: f32[2048] = aten::linear(%x, %x, None)
  %d: f32[16] = aten::mean.dim(%c, [0], False, None)
  %e: f32[16] = aten::linear(%d, %k, None)
  return (%e)
)");
  bench.constant[0] = true;
  const Candidate from = bench.start(8192);
  EXPECT_EQ(from.peak, 4096 + 8192 + 64 + 64 + 64 + 64);  // k; c, d; x, w; e
  EXPECT_EQ(bench.best(propose_recompute(bench.context(), from)), 8192 + 64 + 64 + 64 + 64);
}

TEST(Search, FrontierTradesTimeForBytes) {
  Bench bench(kSkip, "ms aten::relu 0.1");
  const auto frontier = bench.frontier();
  ASSERT_EQ(frontier.size(), 2);
  EXPECT_EQ(frontier[0].peak, 4096 + 64 + 8192 + 64 + 64);
  EXPECT_DOUBLE_EQ(frontier[0].ms, 4.1);
  EXPECT_EQ(frontier[0].moves, std::vector<std::string>{"whole"});
  EXPECT_EQ(frontier[1].peak, 8192 + 64 + 64 + 64);
  EXPECT_DOUBLE_EQ(frontier[1].ms, 4.2);
  EXPECT_EQ(frontier[1].moves, (std::vector<std::string>{"whole", "recompute"}));
}

TEST(Search, ChooseTakesTheFastestThatFits) {
  Bench bench(kSkip, "ms aten::relu 0.1");
  const auto large = bench.fit(kMiB), small = bench.fit(8192 + 64 + 64 + 64);
  ASSERT_TRUE(std::holds_alternative<PlannedPoint>(large));
  ASSERT_TRUE(std::holds_alternative<PlannedPoint>(small));
  EXPECT_DOUBLE_EQ(std::get<PlannedPoint>(large).candidate.ms, 4.1);
  EXPECT_DOUBLE_EQ(std::get<PlannedPoint>(small).candidate.ms, 4.2);
  EXPECT_EQ(std::get<PlannedPoint>(small).bytes.total(), 8192 + 64 + 64 + 64);
}

TEST(Search, RefusalNamesWhatIsNeededAndWhatSetsIt) {
  Bench bench(kSkip, "ms aten::relu 0.1");
  const auto refused = bench.fit(8192 + 64 + 64 + 63);
  ASSERT_TRUE(std::holds_alternative<NoFit>(refused));
  const NoFit& no = std::get<NoFit>(refused);
  EXPECT_EQ(no.needed, 8192 + 64 + 64 + 64);
  EXPECT_EQ(no.budget, no.needed - 1);
  EXPECT_EQ(no.peak_op, "aten::linear");
  ASSERT_FALSE(no.culprits.empty());
  EXPECT_EQ(no.culprits[0].value, "c");
  EXPECT_EQ(no.culprits[0].bytes, 8192);
}

TEST(Search, MoveNamesAreUnique) {
  const auto& table = move_table();
  ASSERT_EQ(table.size(), 2);
  EXPECT_EQ(table[0].name, "reorder");
  EXPECT_FALSE(table[0].changes_time);
  EXPECT_EQ(table[1].name, "recompute");
  EXPECT_TRUE(table[1].changes_time);
}

}  // namespace
}  // namespace lowwater
