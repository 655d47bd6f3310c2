#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Type, CountsElementsAndBytes) {
  Type type;
  type.sizes = {2, 3, 4};
  EXPECT_EQ(type.numel(), 24);
  EXPECT_EQ(type.bytes(), 96);
  type.dtype = DType::i64;
  EXPECT_EQ(type.bytes(), 192);
  type.sizes = {};
  EXPECT_EQ(type.numel(), 1);
  type.sizes = {5, 0};
  EXPECT_EQ(type.bytes(), 0);
  type = {};
  type.kind = TypeKind::integer;
  EXPECT_EQ(type.bytes(), 0);
}

TEST(Type, RowMajorStrides) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Ints{12, 4, 1}));
  EXPECT_EQ(row_major_strides({}), Ints{});
  EXPECT_EQ(row_major_strides({2, 0, 4}), (Ints{4, 4, 1}));
}

TEST(Graph, AddNodeSetsProducers) {
  Graph graph;
  Value value;
  value.name = "a";
  const ValueId a = graph.add_value(value);
  value.name = "b";
  const ValueId b = graph.add_value(value);
  Node node;
  node.op = "aten::max.dim";
  node.outputs = {kNone, a, b};
  const NodeId id = graph.add_node(node);
  EXPECT_EQ(graph.value(a).producer, id);
  EXPECT_EQ(graph.value(a).index, 1);
  EXPECT_EQ(graph.value(b).index, 2);
  EXPECT_EQ(graph.where(id), "aten::max.dim");
  graph.sources = {"model.py:42 in forward"};
  graph.nodes[0].source = 0;
  EXPECT_EQ(graph.where(id), "model.py:42 in forward");
}

TEST(Graph, InputsAndUsers) {
  const Graph graph = parse_graph(R"(
    graph(%x: f32[2], %n: int, %p: bool):
      %a: f32[2] = aten::add.Tensor(%x, %x, 1)
      %b: f32[4] = aten::cat([%a, None, %x, %a], 0)
      %c: f32[4] = aten::view(%b, mixed[4, %n=1]) if %p
      return (%c)
  )");
  EXPECT_EQ(node_inputs(graph.node(0)), (std::vector<ValueId>{0}));
  EXPECT_EQ(node_inputs(graph.node(1)), (std::vector<ValueId>{3, 0}));
  EXPECT_EQ(node_inputs(graph.node(2)), (std::vector<ValueId>{4, 1, 2}));
  const std::vector<std::vector<NodeId>> users = value_users(graph);
  EXPECT_EQ(users[0], (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(users[2], (std::vector<NodeId>{2}));
  EXPECT_EQ(users[3], (std::vector<NodeId>{1}));
  EXPECT_TRUE(users[5].empty());
}

TEST(Graph, FirstDifferenceIgnoresNumbering) {
  const Graph a = parse_graph(
      "graph(%x: f32[2], %w: weight 0 f32[2]):"
      "  %y: f32[2] = aten::mul.Tensor(%x, %w)  return (%y)");
  const Graph b = parse_graph(
      "graph(%w: weight 0 f32[2], %x: f32[2]):"
      "  %y: f32[2] = aten::mul.Tensor(%x, %w)  return (%y)");
  EXPECT_NE(a.value(0).name, b.value(0).name);
  EXPECT_EQ(first_difference(a, b), "");
}

TEST(Graph, FirstDifferenceSeesEveryPart) {
  const std::string base =
      "graph(%x: f32[2], %p: bool, %w: weight 0 f32[2]):\n"
      "  inputs ((0), {\"p\": 1})\n"
      "  outputs [0, 1]\n"
      "  %y: f32[2] = aten::mul.Tensor(%x, %w, 1.5) if %p barrier @\"m.py:1\"\n"
      "  return (%y, 3, weight 0 = %y)\n";
  const Graph a = parse_graph(base);
  const std::pair<const char*, const char*> changes[] = {
      {"%y: f32[2]", "%y: f32[3]"},
      {"%y: f32[2]", "%y: f32[2] dynamic"},
      {"%y: f32[2]", "%y: f32[2]{2}"},
      {"mul.Tensor", "add.Tensor"},
      {"(%x, %w, 1.5)", "(%w, %x, 1.5)"},
      {"1.5", "nan"},
      {"1.5", "True"},
      {" if %p", ""},
      {" if ", " if not "},
      {" barrier", ""},
      {"m.py:1", "m.py:2"},
      {" @\"m.py:1\"", ""},
      {"weight 0 f32", "weight 1 f32"},
      {", 3,", ", 4,"},
      {"weight 0 = %y", "weight 1 = %y"},
      {"weight 0 = %y", "input 0 = %y"},
      {"{\"p\": 1}", "{\"q\": 1}"},
      {"[0, 1]", "(0, 1)"},
      {"%x: f32", "%x \"z\": f32"},
      {"outputs [0, 1]", "outputs {\"a\": 0, \"b\": 1}"},
  };
  EXPECT_EQ(first_difference(a, a), "");
  for (const auto& [from, to] : changes) {
    std::string text = base;
    text.replace(text.find(from), std::string(from).size(), to);
    EXPECT_NE(first_difference(a, parse_graph(text)), "") << from << " -> " << to;
    EXPECT_NE(first_difference(parse_graph(text), a), "") << from << " -> " << to;
  }
}

}  // namespace
}  // namespace lowwater
