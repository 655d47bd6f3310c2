#include "plan/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_costs.h"
#include "graph/text.h"

namespace lowwater {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Values of 256 bytes, a workspace of 1000 at the first operator.
struct Small {
  Graph graph = parse_graph(R"(graph(%x: f32[64], %w: weight 0 f32[64], %u: f32[64]):
    %k: f32[64] = aten::neg(%w)
    %a: f32[64] = aten::exp(%x) @"model.py:3 in forward"
    %b: f32[64] = aten::relu(%a)
    %c: f32[64] = vision::special(%b, %k) @"model.py:5 in forward"
    return (%c))");
  WeightTable weights = weights_of(graph);
  FakeCosts costs{"temp aten::exp 1000\nms aten::exp 2\nms vision::special 0.5"};
  Facts facts = collect_facts(graph, weights, costs);

  PlannedPoint point() {
    PlannedPoint result;
    result.candidate.schedule = whole_schedule(graph, {true, false, false, false});
    result.candidate.ms = 3.5;
    result.candidate.moves = {"reorder"};
    result.program = lower(graph, weights, result.candidate.schedule, facts, costs);
    result.addresses = plan_addresses(result.program);
    result.bytes = scope_bytes(result.program, weights);
    return result;
  }
};

TEST(Figures, OfAPlannedPoint) {
  Small small;
  Plan plan;
  fill_plan(plan, small.graph, small.weights, small.facts, small.point());
  EXPECT_EQ(plan.arena_bytes, 256 + 1024);  // %a and the workspace, aligned to 64
  EXPECT_EQ(plan.lower_bound_bytes, 256 + 1024);
  EXPECT_EQ(plan.outside_arena_bytes, 4 * 256);  // %x, %w, %c and the constant %k; %u is never read
  EXPECT_EQ(plan.peak_bytes, 1280 + 1024);
  EXPECT_EQ(plan.unplanned_peak_bytes, 256 + 256 + 1000 + 2 * 256);  // %k, %a, workspace; %x and %w
  EXPECT_EQ(plan.predicted_ms, 3.5);
  EXPECT_EQ(plan.unplanned_ms, 1 + 2 + 1 + 0.5);
  EXPECT_EQ(plan.basis, "measured");
  EXPECT_EQ(plan.exactness, "same-kernels");
  EXPECT_THAT(plan.moves, ElementsAre("reorder"));
  EXPECT_THAT(plan.stages, ElementsAre("1 operator once per session, %k, 1 ms",
                                       "3 operators, %a to %c, 3.5 ms"));
  EXPECT_EQ(plan.peak_op, "aten::exp");
  EXPECT_EQ(plan.peak_source, "model.py:3 in forward");
  EXPECT_EQ(plan.peak_temporary_bytes, 1000);
  ASSERT_EQ(plan.barriers.size(), 1U);  // not in the operator table
  EXPECT_EQ(plan.barriers[0].name, "vision::special");
  EXPECT_EQ(plan.barriers[0].source, "model.py:5 in forward");
  EXPECT_EQ(plan.barriers[0].bytes, 256);
}

TEST(Figures, LoopsChangeTheOrderOfArithmetic) {
  Small small;
  PlannedPoint point = small.point();
  point.candidate.schedule.body = {{std::vector<Loop>{{0, 0, 16, {{Stage{{1, 2}}}}}}},
                                   {Stage{{3}}}};
  Plan plan;
  fill_plan(plan, small.graph, small.weights, small.facts, point);
  EXPECT_EQ(plan.exactness, "same-mathematics");
  EXPECT_THAT(plan.stages, ElementsAre("1 operator once per session, %k, 1 ms",
                                       "loop  axis 0 of %x, 4 tiles of 16",
                                       "  2 operators, %a to %b, 3 ms", "1 operator, %c, 0.5 ms"));
}

TEST(Figures, OfARefusal) {
  Small small;
  Plan plan;
  const NoFit refusal{
      2304, 1000, "aten::exp", "model.py:3 in forward", {{"a", "model.py:3 in forward", 256}}};
  fill_plan(plan, small.graph, small.weights, small.facts, refusal);
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.peak_bytes, 2304);
  EXPECT_EQ(plan.unplanned_peak_bytes, 256 + 256 + 1000 + 2 * 256);
  EXPECT_EQ(plan.peak_op, "aten::exp");
  ASSERT_EQ(plan.peak_values.size(), 1U);
  EXPECT_EQ(plan.peak_values[0].name, "a");
  EXPECT_EQ(plan.peak_values[0].bytes, 256);
  EXPECT_THAT(plan.stages, IsEmpty());
}

}  // namespace
}  // namespace lowwater
