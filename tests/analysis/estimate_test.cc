#include "analysis/estimate.h"

#include <gtest/gtest.h>

#include "analysis/facts.h"
#include "analysis/views.h"
#include "graph/text.h"
#include "schemas.h"

namespace lowwater {
namespace {

// "fresh", or "alias f32[2,3]{3,1}+6" for the last node of a graph.
std::string last_output(const std::string& text, std::size_t output = 0) {
  const Graph graph = parse_graph(text);
  EstimatingProvider provider(snapshot_schemas());
  const Facts facts = collect_facts(graph, {}, provider);
  const StepOutput& result = facts.nodes.back()->outputs.at(output);
  if (result.home == OutputHome::fresh) return "fresh";
  const TensorMeta& meta =
      facts.values[static_cast<std::size_t>(graph.nodes.back().outputs[output])].meta;
  std::string line = "alias [";
  for (const std::int64_t stride : meta.strides) line += std::to_string(stride) + ",";
  return line + "]+" + std::to_string(meta.storage_offset);
}

TEST(Estimate, ViewsAliasAndCopiesDoNot) {
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[24] = aten::view(%x, [24])
    return (%y))"),
            "alias [1,]+0");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[6,4]{1,6} = aten::t(%x)
    return (%y))"),
            "alias [1,6,]+0");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[4,6] = aten::clone(%x, None)
    return (%y))"),
            "fresh");
}

TEST(Estimate, ReshapeCopiesOnlyWhereTheLayoutForbidsAView) {
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[2,12] = aten::reshape(%x, [2, 12])
    return (%y))"),
            "alias [12,1,]+0");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %t: f32[6,4]{1,6} = aten::t(%x)
    %y: f32[24] = aten::reshape(%t, [24])
    return (%y))"),
            "fresh");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %t: f32[6,4]{1,6} = aten::t(%x)
    %y: f32[6,2,2]{1,12,6} = aten::_unsafe_view(%t, [6, 2, 2])
    return (%y))"),
            "alias [1,12,6,]+0");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %t: f32[6,4]{1,6} = aten::t(%x)
    %y: f32[6,4] = aten::contiguous(%t, contiguous)
    return (%y))"),
            "fresh");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[4,6] = aten::contiguous(%x, contiguous)
    return (%y))"),
            "alias [6,1,]+0");
}

TEST(Estimate, CastsCopyOnlyWhereTheTypeChanges) {
  EXPECT_EQ(last_output(R"(graph(%x: f32[4]):
    %y: f32[4] = aten::to.dtype(%x, f32, False, False, None)
    return (%y))"),
            "alias [1,]+0");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4]):
    %y: f16[4] = aten::to.dtype(%x, f16, False, False, None)
    return (%y))"),
            "fresh");
}

TEST(Estimate, SlicesBeginWhereTheyShould) {
  const char* split = R"(graph(%x: f32[4,6]):
    %a: f32[4,4]{6,1}, %b: f32[4,2]{6,1} = aten::split_with_sizes(%x, [4, 2], 1)
    return (%a, %b))";
  EXPECT_EQ(last_output(split, 0), "alias [6,1,]+0");
  EXPECT_EQ(last_output(split, 1), "alias [6,1,]+4");
  const char* unbind = R"(graph(%x: f32[2,6]):
    %a: f32[6], %b: f32[6] = aten::unbind.int(%x, 0)
    return (%a, %b))";
  EXPECT_EQ(last_output(unbind, 1), "alias [1,]+6");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[4]{6} = aten::select.int(%x, -1, -2)
    return (%y))"),
            "alias [6,]+4");
  EXPECT_EQ(last_output(R"(graph(%x: f32[4,6]):
    %y: f32[4,2]{6,1} = aten::slice.Tensor(%x, 1, -2, 9223372036854775807, 1)
    return (%y))"),
            "alias [6,1,]+4");
}

TEST(Estimate, TypesThatDifferOnlyOutsideTheKeyDoNotShareARecord) {
  EstimatingProvider provider(snapshot_schemas());
  StepSpec spec;
  spec.op = "aten::nonzero";
  spec.output_types = {Type{.dtype = DType::i64, .sizes = {3, 1}, .strides = {1, 1}}};
  const StepRecord& first = provider.record(spec);
  spec.output_types[0].sizes = {5, 1};
  const StepRecord& second = provider.record(spec);
  EXPECT_EQ(first.peak_bytes(), 24);
  EXPECT_EQ(second.peak_bytes(), 40);
  EXPECT_EQ(&provider.record(spec), &second);
}

TEST(Estimate, TimeFollowsBytesAndFlops) {
  const auto ms = [](const std::string& text) {
    const Graph graph = parse_graph(text);
    EstimatingProvider provider(snapshot_schemas());
    return collect_facts(graph, {}, provider).nodes.back()->ms;
  };
  const double relu =
      ms("graph(%x: f32[1000000]):\n %y: f32[1000000] = aten::relu(%x)\n return (%y)");
  EXPECT_DOUBLE_EQ(relu, 8e6 / 10e6);
  EXPECT_EQ(ms("graph(%x: f32[1000000]):\n %y: f32[1000,1000] = aten::view(%x, [1000, 1000])\n "
               "return (%y)"),
            0);
  const double conv = ms(R"(graph(%x: f32[1,16,10,10], %w: f32[32,16,3,3]):
    %y: f32[1,32,10,10] = aten::conv2d(%x, %w, None, [1,1], [1,1], [1,1], 1)
    return (%y))");
  EXPECT_DOUBLE_EQ(conv, 4.0 * (1600 + 4608 + 3200) / 10e6 + 2.0 * 3200 * 144 / 100e6);
}

TEST(Views, StridesOfAViewOrNone) {
  using Ints = std::vector<std::int64_t>;
  const auto strides = [](Ints sizes, Ints from, Ints to) {
    return view_strides({DType::f32, std::move(sizes), std::move(from), 0, 0}, to);
  };
  EXPECT_EQ(strides({2, 3, 4}, {12, 4, 1}, {6, 4}), (Ints{4, 1}));
  EXPECT_EQ(strides({2, 3, 4}, {4, 8, 1}, {6, 4}), std::nullopt);
  EXPECT_EQ(strides({2, 3, 4}, {4, 8, 1}, {2, 3, 2, 2}), (Ints{4, 8, 2, 1}));
  EXPECT_EQ(strides({6}, {2}, {1, 2, 1, 3, 1}), (Ints{12, 6, 6, 2, 2}));
  EXPECT_EQ(strides({6, 2}, {2, 1}, {4, 3}), (Ints{3, 1}));
  EXPECT_EQ(strides({5, 1}, {1, 77}, {5}), (Ints{1}));
  EXPECT_EQ(strides({1}, {1}, {1, 1}), (Ints{1, 1}));
  EXPECT_EQ(strides({2, 3}, {0, 1}, {6}), std::nullopt);
  EXPECT_EQ(strides({2, 3}, {0, 0}, {6}), (Ints{0}));
}

TEST(Views, DenseMeansEachElementOnce) {
  EXPECT_TRUE(is_dense({DType::f32, {2, 3}, {1, 2}, 0, 0}));
  EXPECT_TRUE(is_dense({DType::f32, {2, 1, 3}, {3, 99, 1}, 0, 0}));
  EXPECT_FALSE(is_dense({DType::f32, {2, 3}, {4, 1}, 0, 0}));
  EXPECT_FALSE(is_dense({DType::f32, {2, 3}, {0, 1}, 0, 0}));
}

}  // namespace
}  // namespace lowwater
