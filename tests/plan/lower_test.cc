#include "plan/lower.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fake_costs.h"
#include "golden.h"
#include "graph/text.h"
#include "lowwater/error.h"
#include "plan/json.h"
#include "plan/verify.h"

namespace lowwater {
namespace {

// A golden file's case: its options, graph, schedule (default: everything whole).
struct Case {
  Graph graph;
  WeightTable weights;
  LowerOptions options;
  FakeCosts costs;
  Schedule schedule;

  explicit Case(const GoldenFile& file) : graph(parse_graph(file.section("graph"))) {
    std::vector<StorageIndex> tied;
    std::istringstream rules(file.section("rules"));
    for (std::string line; std::getline(rules, line);) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      if (line == "io host") options.io = IoPlace::host;
      if (line == "no sharing") options.share_addresses = false;
      if (word == "tied") {
        for (int storage = 0; words >> storage;) tied.push_back(storage);
      }
      if (word != "io" && word != "no" && word != "tied") costs.add_rule(line);
    }
    weights = weights_of(graph, tied);
    schedule = read_schedule(file.section("schedule"));
  }

  // "once 0 1" and "body 2 3 2": node numbers.
  Schedule read_schedule(const std::string& text) const {
    if (text.empty()) return whole_schedule(graph, std::vector<bool>(graph.nodes.size(), false));
    Schedule result;
    Stage stage;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string place;
      words >> place;
      for (NodeId node = 0; words >> node;)
        (place == "once" ? result.once : stage.nodes).push_back(node);
    }
    result.body.push_back({stage});
    return result;
  }

  Program run() {
    const Facts facts = collect_facts(graph, weights, costs);
    Program program = lower(graph, weights, schedule, facts, costs, options);
    plan_addresses(program);
    return program;
  }
};

TEST(Lower, Golden) {
  const auto paths = golden_files("lower");
  ASSERT_FALSE(paths.empty());
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    const GoldenFile file = read_golden(path);
    Case test(file);
    EXPECT_EQ(lint(test.graph), std::vector<std::string>{});
    EXPECT_EQ(check_schedule(test.graph, test.schedule), std::vector<std::string>{});
    const Program program = test.run();
    expect_golden(file, "program", print_program(program));
    for (const Violation& violation : verify_program(test.graph, program))
      ADD_FAILURE() << violation.what;
  }
}

Graph small_graph() {
  return parse_graph(R"(graph(%x: f32[64]):
    %a: f32[64] = aten::exp(%x)
    %b: f32[64] = aten::relu(%a)
    %c: f32[64] = aten::neg(%b)
    return (%c))");
}

Program lower_whole(const Graph& graph, CostProvider& costs, const Schedule& schedule,
                    const LowerOptions& options = {}) {
  const WeightTable weights = weights_of(graph);
  const Facts facts = collect_facts(graph, weights, costs);
  return lower(graph, weights, schedule, facts, costs, options);
}

TEST(Lower, LoopsNeedRegionRules) {
  const Graph graph = small_graph();
  FakeCosts costs;
  Schedule schedule;
  schedule.body.push_back(
      {std::vector<Loop>{{.axis_value = 0, .axis = 0, .tile = 8, .body = {{Stage{{0, 1, 2}}}}}}});
  try {
    lower_whole(graph, costs, schedule);
    FAIL() << "a loop was lowered";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_EQ(error.message(), "no region rule");
  }
}

TEST(Lower, RefusesReadsBeforeDefinitions) {
  const Graph graph = small_graph();
  FakeCosts costs;
  Schedule schedule;
  schedule.body.push_back({Stage{{1, 0, 2}}});
  EXPECT_THROW(lower_whole(graph, costs, schedule), Error);
  schedule.body.clear();
  schedule.once = {0};  // reads an input
  schedule.body.push_back({Stage{{1, 2}}});
  EXPECT_THROW(lower_whole(graph, costs, schedule), Error);
}

TEST(Lower, BoundIsWhatAddressesReport) {
  const Graph graph = small_graph();
  FakeCosts costs("temp aten::exp 1000\ntemp aten::neg 300");
  const Schedule schedule = whole_schedule(graph, std::vector<bool>(3, false));
  Program shared = lower_whole(graph, costs, schedule);
  EXPECT_EQ(liveness_bound(shared), 256 + 1024);  // %a beside the workspace, aligned to 64
  const AddressReport report = plan_addresses(shared);
  EXPECT_EQ(report.lower_bound, 256 + 1024);
  EXPECT_EQ(shared.arena_bytes, 256 + 1024);
  EXPECT_TRUE(report.optimal);

  Program apart = lower_whole(graph, costs, schedule, {.share_addresses = false});
  for (const Buffer& buffer : apart.buffers) EXPECT_EQ(buffer.shares, kNone);
  EXPECT_EQ(liveness_bound(apart), 256 + 1024);
}

// A chain is one item: 4 values of 256 bytes, never more than one at a time.
TEST(Lower, ChainsCostOneBuffer) {
  const Graph graph = parse_graph(R"(graph(%x: f32[64]):
    %a: f32[64] = aten::exp(%x)
    %b: f32[64] = aten::relu(%a)
    %c: f32[64] = aten::neg(%b)
    %d: f32[64] = aten::tanh(%c)
    %e: f32[1] = aten::sum(%d)
    return (%e))");
  FakeCosts costs;
  const Schedule schedule = whole_schedule(graph, std::vector<bool>(5, false));
  Program shared = lower_whole(graph, costs, schedule);
  Program apart = lower_whole(graph, costs, schedule, {.share_addresses = false});
  plan_addresses(shared);
  plan_addresses(apart);
  EXPECT_EQ(shared.arena_bytes, 256);
  EXPECT_EQ(apart.arena_bytes, 512);
  int releases = 0;
  for_each_step(shared.steps, [&](const Step& step) {
    releases += std::holds_alternative<Release>(step) ? 1 : 0;
  });
  EXPECT_EQ(releases, 1);
}

TEST(Lower, IsDeterministicAndLeavesOutDeadNodes) {
  const Graph graph = parse_graph(R"(graph(%x: f32[64]):
    %a: f32[64] = aten::exp(%x)
    %dead: f32[64] = aten::relu(%a)
    %c: f32[64] = aten::neg(%a)
    return (%c))");
  FakeCosts costs;
  const Schedule schedule = whole_schedule(graph, std::vector<bool>(3, false));
  const Program program = lower_whole(graph, costs, schedule);
  EXPECT_EQ(print_program(program), print_program(lower_whole(graph, costs, schedule)));
  for_each_step(program.steps, [&](const Step& step) {
    const auto* launch = std::get_if<Launch>(&step);
    EXPECT_TRUE(launch == nullptr || launch->op != "aten::relu");
  });
}

}  // namespace
}  // namespace lowwater
