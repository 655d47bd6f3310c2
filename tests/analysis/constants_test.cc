#include <gtest/gtest.h>

#include "analysis/facts.h"
#include "graph/text.h"
#include "schemas.h"

namespace lowwater {
namespace {

// The names of the first outputs of the nodes that run once.
std::string constants(const char* text, const WeightTable* weights = nullptr) {
  const Graph graph = parse_graph(text);
  const std::vector<bool> constant = constant_nodes(graph, snapshot_schemas(), weights);
  std::string names;
  for (std::size_t i = 0; i < constant.size(); ++i) {
    if (constant[i]) names += graph.value(graph.nodes[i].outputs[0]).name + " ";
  }
  return names;
}

TEST(ConstantNodes, FollowWeightsTransitively) {
  EXPECT_EQ(constants(R"(
graph(%x: f32[4], %w: weight 0 f32[4]):
  %a: f32[4] = aten::neg(%w)
  %b: f32[4] = aten::add.Tensor(%a, %w, 1)
  %c: f32[4] = aten::add.Tensor(%a, %x, 1)
  %d: f32[4] = aten::neg(%c)
  %e: i64[4] = aten::arange(4, None, None, None, None)
  return (%b, %d, %e)
)"),
            "a b e ");
}

TEST(ConstantNodes, ExcludeRandomDataDependentGuardedAndUnknown) {
  EXPECT_EQ(constants(R"(
graph(%p: bool, %w: weight 0 f32[4]):
  %a: f32[4] = aten::rand_like(%w, None, None, None, None, None)
  %b: f32[4] = aten::neg(%a)
  %c: i64[4,1] dynamic = aten::nonzero(%w)
  %d: f32[4] = aten::neg(%w) if %p
  %e: f32[4] = custom::op(%w)
  %f: f32[4] = aten::abs(%w) barrier
  %g: f32[4] = aten::abs(%w)
  %h: i64[2] = aten::arange(2, None, None, None, None)
  %i: f32[2] = aten::index.Tensor(%g, [%h])
  return (%b, %c, %d, %e, %f, %i)
)"),
            "g h i ");
}

TEST(ConstantNodes, ExcludeMutatedBuffersAndWhatSharesTheirStorage) {
  const char* text = R"(
graph(%x: f32[4], %v: weight 0 f32[4], %w: weight 1 f32[4], %u: weight 2 f32[4]):
  %a: f32[4] = aten::neg(%v)
  %b: f32[4] = aten::neg(%w)
  %c: f32[4] = aten::neg(%u)
  %d: f32[4] = aten::add.Tensor(%v, %x, 1)
  return (%a, %b, %c, weight 0 = %d)
)";
  EXPECT_EQ(constants(text), "b c ");
  WeightTable weights;
  weights.weights.resize(3);
  weights.weights[0].storage = 0;
  weights.weights[1].storage = 0;
  weights.weights[2].storage = 1;
  EXPECT_EQ(constants(text, &weights), "c ");
}

}  // namespace
}  // namespace lowwater
