#include "plan/lower.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "fake_costs.h"
#include "golden.h"
#include "graph/text.h"
#include "lowwater/error.h"
#include "plan/json.h"

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
      for (NodeId node = 0; words >> node;) (place == "once" ? result.once : stage.nodes).push_back(node);
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
    expect_golden(file, "program", print_program(test.run()));
  }
}

}  // namespace
}  // namespace lowwater
