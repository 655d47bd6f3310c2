// Rewrites as text in, text out (tests/golden/rewrite), and the wrapper.
#include "rewrite/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "golden.h"
#include "graph/text.h"
#include "lowwater/error.h"
#include "rewrite/edit.h"
#include "schemas.h"

namespace lowwater {
namespace {

// Weight i as the graph types it, in storage numbers[i].
WeightTable weights_in(const Graph& graph, const std::string& numbers) {
  std::istringstream words(numbers);
  WeightTable table;
  for (StorageIndex storage = 0; words >> storage;) {
    Weight weight;
    weight.storage = storage;
    table.weights.push_back(weight);
    table.storages.resize(std::max(table.storages.size(), static_cast<std::size_t>(storage) + 1));
  }
  for (const Value& value : graph.values) {
    if (value.kind != ValueKind::weight) continue;
    Weight& weight = table.weights.at(static_cast<std::size_t>(value.index));
    weight.sizes = value.type.sizes;
    weight.strides = value.type.strides;
  }
  return table;
}

TEST(Rewrites, GoldenFiles) {
  const auto paths = golden_files("rewrite");
  EXPECT_FALSE(paths.empty());
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    const GoldenFile file = read_golden(path);
    const std::string name = file.sections.back().first;
    const auto& table = rewrite_table();
    const auto rewrite = std::find_if(table.begin(), table.end(),
                                      [&](const Rewrite& row) { return row.name == name; });
    ASSERT_NE(rewrite, table.end()) << name;
    Graph graph = parse_graph(file.section("graph"));
    ASSERT_TRUE(lint(graph).empty()) << lint(graph).front();
    const std::string storages = file.section("storages");
    const WeightTable weights = storages.empty() ? WeightTable{} : weights_in(graph, storages);
    RewriteContext context;
    context.schemas = &snapshot_schemas();
    if (!storages.empty()) context.weights = &weights;
    const std::size_t before = graph.nodes.size() + graph.values.size();
    const int changes = rewrite->run(graph, context);
    EXPECT_GT(changes, 0);
    EXPECT_LE(graph.nodes.size() + graph.values.size(), before);
    EXPECT_TRUE(lint(graph).empty()) << lint(graph).front();
    expect_golden(file, name, print_graph(graph));
    // Twice is once.
    EXPECT_EQ(rewrite->run(graph, context), 0);
  }
}

constexpr const char* kText = R"(
graph(%x: f32[4]):
  %a: f32[4] = aten::alias(%x)
  %b: f32[4] = aten::neg(%x)
  %c: f32[4] = aten::exp(%a)
  return (%c)
)";

TEST(Rewrites, RunInOrderAndReport) {
  Graph graph = parse_graph(kText);
  RewriteContext context;
  context.schemas = &snapshot_schemas();
  const auto reports = run_rewrites(graph, context);
  ASSERT_EQ(reports.size(), rewrite_table().size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].name, rewrite_table()[i].name);
    EXPECT_GE(reports[i].ms, 0);
  }
  EXPECT_EQ(reports.front().changes, 1);
  EXPECT_EQ(reports.back().changes, 1);
  EXPECT_EQ(print_graph(graph), print_graph(parse_graph(R"(
graph(%x: f32[4]):
  %c: f32[4] = aten::exp(%x)
  return (%c)
)")));
}

TEST(Rewrites, EachCanBeSwitchedOff) {
  for (const Rewrite& rewrite : rewrite_table()) {
    Graph graph = parse_graph(kText);
    RewriteContext context;
    context.schemas = &snapshot_schemas();
    const auto reports = run_rewrites(graph, context, {std::string(rewrite.name)});
    for (const RewriteReport& report : reports) EXPECT_NE(report.name, rewrite.name);
    EXPECT_EQ(reports.size() + 1, rewrite_table().size());
  }
  Graph graph = parse_graph(kText);
  run_rewrites(graph, {}, {"identities", "dead-code"});
  EXPECT_EQ(graph.nodes.size(), 3U);
}

TEST(Rewrites, AnUnsoundGraphNamesTheRewrite) {
  Graph graph = parse_graph(kText);
  graph.values[0].name = graph.values[2].name;
  try {
    run_rewrites(graph, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_EQ(error.where(), "after the rewrite identities");
  }
}

// Removing nothing changes nothing; removing a node renumbers everything behind it.
TEST(Compact, RenumbersEveryReference) {
  const std::string text = R"(graph(%x: f32[4], "flag" = True, %w: weight 5 f32[4], %y: f32[4]):
  %p: bool = sym::gt(1, 0)
  %a: f32[4] = aten::neg(%x)
  %b: f32[4], %c: f32[4] = custom::two([%y, None, %w]) if not %p @ "m.py:3"
  _, %d: f32[4] = custom::two([%b, %c])
  return (%d, 3, weight 5 = %b)
)";
  Graph graph = parse_graph(text);
  const std::string printed = print_graph(graph);
  compact(graph, std::vector<bool>(graph.nodes.size(), false),
          std::vector<bool>(graph.values.size(), false));
  EXPECT_EQ(print_graph(graph), printed);
  std::vector<bool> remove(graph.nodes.size(), false);
  remove[1] = true;
  compact(graph, remove, std::vector<bool>(graph.values.size(), false));
  EXPECT_TRUE(lint(graph).empty()) << lint(graph).front();
  std::string expected = printed;
  const std::size_t line = expected.find("  %a:");
  expected.erase(line, expected.find('\n', line) - line + 1);
  EXPECT_EQ(print_graph(graph), expected);
}

}  // namespace
}  // namespace lowwater
