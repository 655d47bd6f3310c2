#include <gtest/gtest.h>

#include <functional>

#include "graph/graph.h"
#include "graph/text.h"

namespace lowwater {
namespace {

// A graph that has one of everything.
Graph sound() {
  return parse_graph(R"(
    graph(%x: f32[2,3], %p: bool, "flag" = True, %w: weight 0 f32[3], %m: weight 1 f32[2,3]):
      %n: int = aten::sym_size.int(%x, 0)
      %y: f32[2,3], _ = aten::op(%x, [%w, None], mixed[2, %n=3]) if %p @"model.py:1"
      %z: f32[2,3] = aten::relu(%y)
      return (%z, None, %x, weight 1 = %z, input 0 = %y)
  )");
}

// What lint says after `change`: exactly one sentence, which holds `words`.
void expect_violation(const std::string& words, const std::function<void(Graph&)>& change) {
  Graph graph = sound();
  change(graph);
  const std::vector<std::string> violations = lint(graph);
  ASSERT_FALSE(violations.empty()) << words;
  bool found = false;
  for (const std::string& violation : violations)
    found |= violation.find(words) != std::string::npos;
  EXPECT_TRUE(found) << "expected '" << words << "', got: " << violations.front();
}

TEST(Lint, AcceptsASoundGraph) { EXPECT_EQ(lint(sound()), std::vector<std::string>{}); }

TEST(Lint, EmptyGraphNeedsAnInputStructure) {
  EXPECT_TRUE(lint(parse_graph("graph(): return ()")).empty());
}

// Values: x 0, p 1, w 2, m 3, n 4, y 5, z 6. Nodes: sym_size 0, op 1, relu 2.
TEST(Lint, Values) {
  expect_violation("two values are called %x", [](Graph& g) { g.values[6].name = "x"; });
  expect_violation("has no name", [](Graph& g) { g.values[6].name = ""; });
  expect_violation("negative size", [](Graph& g) { g.values[6].type.sizes[0] = -2; });
  expect_violation("2 sizes but 1 strides", [](Graph& g) { g.values[6].type.strides = {1}; });
  expect_violation("63 bits", [](Graph& g) { g.values[6].type.sizes = {INT64_MAX / 2, 3}; });
  expect_violation("a number with sizes", [](Graph& g) { g.values[4].type.sizes = {1}; });
  expect_violation("without a WeightId", [](Graph& g) { g.values[2].index = -1; });
  expect_violation("has a producer", [](Graph& g) { g.values[2].producer = 0; });
  expect_violation("that is another", [](Graph& g) { g.values[6].producer = 1; });
  expect_violation("that is another", [](Graph& g) { g.values[6].producer = 99; });
  expect_violation("that is another", [](Graph& g) { g.values[6].index = 7; });
  expect_violation("that input is another", [](Graph& g) { g.values[0].index = 1; });
}

TEST(Lint, Nodes) {
  expect_violation("has no operator", [](Graph& g) { g.nodes[2].op = ""; });
  expect_violation("reads %z before it is defined", [](Graph& g) { g.nodes[1].args[0] = Ref{6}; });
  expect_violation("reads %y before it is defined", [](Graph& g) { g.nodes[1].args[0] = Ref{5}; });
  expect_violation("unknown value 77", [](Graph& g) { g.nodes[1].args[0] = Ref{77}; });
  expect_violation("unknown output 77", [](Graph& g) { g.nodes[1].outputs[1] = 77; });
  expect_violation("that another defines", [](Graph& g) { g.nodes[1].outputs[1] = 6; });
  expect_violation("unknown source 5", [](Graph& g) { g.nodes[2].source = 5; });
  expect_violation("guard %x that is not boolean", [](Graph& g) { g.nodes[1].guard = 0; });
  expect_violation("unknown value 88", [](Graph& g) { g.nodes[1].guard = 88; });
  expect_violation("in a list of integers",
                   [](Graph& g) { std::get<MixedInts>(g.nodes[1].args[2]).refs[1] = Ref{0}; });
  expect_violation("2 integers but 1 references",
                   [](Graph& g) { std::get<MixedInts>(g.nodes[1].args[2]).refs.pop_back(); });
}

TEST(Lint, WritingOperatorsMustBeBarriers) {
  expect_violation("writes its operand", [](Graph& g) { g.nodes[2].op = "aten::relu_"; });
  expect_violation("writes its operand", [](Graph& g) { g.nodes[2].op = "aten::add_.Tensor"; });
  Graph graph = sound();
  graph.nodes[2].op = "aten::relu_";
  graph.nodes[2].barrier = true;
  EXPECT_TRUE(lint(graph).empty());
  graph.nodes[2].op = "aten::__and__.Tensor";
  graph.nodes[2].barrier = false;
  EXPECT_TRUE(lint(graph).empty());
}

TEST(Lint, InputsAndOutputs) {
  expect_violation("does not name its value", [](Graph& g) { g.inputs[0].value = 2; });
  expect_violation("does not name its value", [](Graph& g) { g.inputs[0].value = 55; });
  expect_violation("constant that refers", [](Graph& g) { g.inputs[2].constant = Ref{0}; });
  expect_violation("unknown value 42", [](Graph& g) { g.outputs[0].value = Ref{42}; });
  expect_violation("is a list of values", [](Graph& g) { g.outputs[0].value = RefList{{Ref{0}}}; });
  expect_violation("after a mutation", [](Graph& g) { std::swap(g.outputs[2], g.outputs[3]); });
  expect_violation("mutates by a constant", [](Graph& g) { g.outputs[3].value = true; });
  expect_violation("unknown target 9", [](Graph& g) { g.outputs[4].target = 9; });
  expect_violation("unknown target 2", [](Graph& g) { g.outputs[4].target = 2; });
  expect_violation("what another output mutates", [](Graph& g) { g.outputs[3] = g.outputs[4]; });
}

TEST(Lint, Structures) {
  expect_violation("the input structure has 2 leaves for 3 inputs",
                   [](Graph& g) { g.input_structure = flat_input_structure(2); });
  expect_violation("the output structure has 4 leaves for 3 outputs",
                   [](Graph& g) { g.output_structure = flat_output_structure(4); });
  expect_violation("malformed", [](Graph& g) { g.output_structure.children[1].leaf = 2; });
  expect_violation("malformed", [](Graph& g) { g.output_structure.keys = {"a"}; });
}

}  // namespace
}  // namespace lowwater
