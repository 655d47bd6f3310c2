#include "plan/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "graph/text.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScheduleItem stage(std::vector<NodeId> nodes) { return {Stage{std::move(nodes)}}; }
ScheduleItem loop(ValueId value, std::int32_t axis, std::int64_t tile,
                  std::vector<ScheduleItem> body) {
  return {std::vector<Loop>{{value, axis, tile, std::move(body)}}};
}

ValueId value_named(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].name == name) return static_cast<ValueId>(i);
  }
  ADD_FAILURE() << "no value " << name;
  return kNone;
}

// A loop over images around (encoder cut in rows; middle; decoder cut in rows).
TEST(Schedule, HeadlineGolden) {
  const GoldenFile file = read_golden(golden_files("schedule").at(0));
  const Graph graph = parse_graph(file.section("graph"));
  ASSERT_THAT(lint(graph), IsEmpty());
  Schedule schedule;
  schedule.once = {0};
  schedule.body.push_back(
      loop(value_named(graph, "x"), 0, 1,
           {
               loop(value_named(graph, "e2"), 2, 24, {stage({1, 2, 3})}), stage({4, 5}),
               loop(value_named(graph, "y"), 2, 16,
                    {stage({1, 2, 6, 7, 8, 9})}),  // the skip is recomputed
           }));
  EXPECT_THAT(check_schedule(graph, schedule), IsEmpty());
  expect_golden(file, "schedule", print_schedule(graph, schedule));
  EXPECT_EQ(schedule, Schedule(schedule));
  EXPECT_THROW(flat_order(schedule), Error);
}

Graph pure_graph() {
  return parse_graph(R"(graph(%x: f32[8], %w: weight 0 f32[8]):
    %k: f32[8] = aten::exp(%w)
    %a: f32[8] = aten::add.Tensor(%x, %k, 1)
    %dead: f32[8] = aten::neg(%a)
    %b: f32[8] = aten::relu(%a)
    return (%b))");
}

TEST(Schedule, WholeLeavesOutWhatNobodyNeeds) {
  const Graph graph = pure_graph();
  const Schedule schedule = whole_schedule(graph, {true, false, false, false});
  EXPECT_THAT(schedule.once, ElementsAre(0));
  EXPECT_THAT(flat_order(schedule), ElementsAre(1, 3));
  EXPECT_THAT(check_schedule(graph, schedule), IsEmpty());
  EXPECT_EQ(print_schedule(graph, schedule), "once   %k\nstage  %a %b\n");
}

TEST(Schedule, FindsWhatIsMissingOrTooEarly) {
  const Graph graph = pure_graph();
  Schedule schedule;
  schedule.body = {stage({3, 0, 1})};
  EXPECT_THAT(check_schedule(graph, schedule),
              ElementsAre("node 3 (aten::relu) reads %a before it is made"));
  schedule.body = {stage({0, 1})};
  EXPECT_THAT(check_schedule(graph, schedule),
              ElementsAre("node 3 (aten::relu) is needed and absent"));
  schedule.body = {stage({0, 1, 9, 3})};
  EXPECT_THAT(check_schedule(graph, schedule), ElementsAre("node 9 does not exist"));
  schedule.once = {0, 1};  // inputs are not there when a session opens
  schedule.body = {stage({3})};
  EXPECT_THAT(check_schedule(graph, schedule),
              ElementsAre("node 1 (aten::add.Tensor) reads %x before it is made"));
}

TEST(Schedule, FindsBadLoops) {
  const Graph graph = pure_graph();
  const auto problem = [&](ScheduleItem item) {
    Schedule schedule;
    schedule.once = {0};
    schedule.body = {std::move(item)};
    const std::vector<std::string> problems = check_schedule(graph, schedule);
    return problems.empty() ? "" : problems[0];
  };
  EXPECT_EQ(problem(loop(0, 0, 3, {stage({1, 3})})), "");
  EXPECT_EQ(problem(loop(99, 0, 3, {stage({1, 3})})), "a loop cuts value 99, which does not exist");
  EXPECT_EQ(problem(loop(0, 1, 3, {stage({1, 3})})), "a loop cuts axis 1 of %x, which has 1 axes");
  EXPECT_EQ(problem(loop(0, 0, 0, {stage({1, 3})})),
            "a loop cuts axis 0 of %x in tiles of 0; its extent is 8");
  EXPECT_EQ(problem(loop(0, 0, 9, {stage({1, 3})})),
            "a loop cuts axis 0 of %x in tiles of 9; its extent is 8");
  EXPECT_EQ(problem(loop(0, 0, 4, {})), "a loop has an empty body");
  EXPECT_EQ(problem({std::vector<Loop>{}}), "a loop item holds 0 loops instead of one");
}

TEST(Schedule, BarriersAndRandomNodesRunOnceInOrder) {
  const Graph graph = parse_graph(R"(graph(%x: f32[8]):
    %a: f32[8] = aten::rand_like(%x)
    %b: f32[8] = aten::rand_like(%a)
    %c: f32[8] = aten::odd(%b) barrier
    %d: f32[8] = aten::add.Tensor(%b, %x, 1)
    return (%c, %d))");
  const std::vector<bool> random = {true, true, false, false};
  const auto problems = [&](std::vector<ScheduleItem> body) {
    Schedule schedule;
    schedule.body = std::move(body);
    return check_schedule(graph, schedule, random);
  };
  EXPECT_THAT(problems({stage({0, 1, 2, 3})}), IsEmpty());
  EXPECT_THAT(problems({stage({0, 1, 3, 2})}),
              ElementsAre("node 3 (aten::add.Tensor) runs before the barrier node 2 (aten::odd)"));
  EXPECT_THAT(problems({stage({0, 1, 2, 3, 3})}), IsEmpty());
  EXPECT_THAT(problems({stage({0, 1, 2, 2, 3})}),
              ElementsAre(HasSubstr("is a barrier and runs more than once")));
  EXPECT_THAT(problems({loop(0, 0, 4, {stage({0, 1})}), stage({2, 3})}),
              ElementsAre("node 0 (aten::rand_like) is random and stands inside a loop",
                          "node 1 (aten::rand_like) is random and stands inside a loop"));
  const std::vector<std::string> repeated = problems({stage({0, 1, 0, 2, 3})});
  EXPECT_THAT(
      repeated,
      ElementsAre("node 0 (aten::rand_like) is random and runs more than once",
                  "node 0 (aten::rand_like) is random and runs after node 1 (aten::rand_like)"));
}

}  // namespace
}  // namespace lowwater
