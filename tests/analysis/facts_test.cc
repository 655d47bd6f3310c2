#include "analysis/facts.h"

#include <gtest/gtest.h>

#include "analysis/estimate.h"
#include "graph/text.h"
#include "lowwater/error.h"
#include "schemas.h"

namespace lowwater {
namespace {

// Weight i lives in storage i; f32, contiguous.
WeightTable weight_table(const std::vector<std::vector<std::int64_t>>& sizes) {
  WeightTable table;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Weight weight;
    weight.name = "w" + std::to_string(i);
    weight.storage = static_cast<StorageIndex>(i);
    weight.sizes = sizes[i];
    weight.strides = contiguous_strides(sizes[i]);
    table.storages.push_back({0, Type{.sizes = sizes[i]}.bytes()});
    table.weights.push_back(weight);
  }
  return table;
}

struct Case {
  Graph graph;
  Facts facts;
  explicit Case(const char* text, const WeightTable& weights = {}) : graph(parse_graph(text)) {
    facts = collect_facts(graph, weights, provider());
  }
  static CostProvider& provider() {
    static EstimatingProvider estimates(snapshot_schemas());
    return estimates;
  }
  [[nodiscard]] ValueId id(const std::string& name) const {
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].name == name) return static_cast<ValueId>(i);
    }
    throw std::out_of_range(name);
  }
  [[nodiscard]] const ValueFact& fact(const std::string& name) const {
    return facts.values[static_cast<std::size_t>(id(name))];
  }
  [[nodiscard]] const Storage& storage(const std::string& name) const {
    return facts.storages[static_cast<std::size_t>(fact(name).storage)];
  }
  [[nodiscard]] LiveRange range(const std::string& name) const {
    return live_ranges(graph, facts)[static_cast<std::size_t>(fact(name).storage)];
  }
};

constexpr const char* kViews = R"(
graph(%x: f32[4,6], %w: weight 0 f32[6]):
  %a: f32[4,6] = aten::add.Tensor(%x, %w, 1)
  %b: f32[2,6]{6,1} = aten::slice.Tensor(%a, 0, 1, 3, 1)
  %c: f32[6]{1} = aten::select.int(%b, 0, 1)
  %d: f32[6] = aten::relu(%c)
  %e: f32[6,4]{1,6} = aten::transpose.int(%x, 0, 1)
  return (%d, %e)
)";

TEST(Facts, ViewsShareTheStorageOfTheirBase) {
  const Case c(kViews, weight_table({{6}}));
  EXPECT_EQ(c.fact("a").storage, c.fact("b").storage);
  EXPECT_EQ(c.fact("a").storage, c.fact("c").storage);
  EXPECT_NE(c.fact("a").storage, c.fact("d").storage);
  EXPECT_EQ(c.fact("x").storage, c.fact("e").storage);
  EXPECT_EQ(c.storage("a").values, (std::vector<ValueId>{c.id("a"), c.id("b"), c.id("c")}));
  EXPECT_EQ(c.storage("a").owner, Storage::Owner::node);
  EXPECT_EQ(c.storage("a").index, 0);
  EXPECT_EQ(c.storage("a").size, 96);
  EXPECT_EQ(c.storage("x").owner, Storage::Owner::input);
  EXPECT_EQ(c.storage("w").owner, Storage::Owner::weight);
  // Row 1 of the slice that begins at row 1 is row 2.
  EXPECT_EQ(c.fact("c").meta.storage_offset, 12);
  EXPECT_EQ(c.fact("c").meta.storage_bytes, 96);
  EXPECT_EQ(c.facts.basis, Basis::estimated);
}

TEST(Facts, LiveRangesGoFromDefinitionToTheLastUseOfAnyView) {
  const Case c(kViews, weight_table({{6}}));
  const auto expect = [&](const char* name, NodeId begin, NodeId end) {
    EXPECT_EQ(c.range(name).begin, begin) << name;
    EXPECT_EQ(c.range(name).end, end) << name;
  };
  expect("a", 0, 3);
  expect("d", 3, 5);
  expect("x", -1, 5);  // a view of it is an output
  expect("w", -1, 0);
}

TEST(Facts, FootprintCountsWhatEagerHolds) {
  const Case c(R"(
graph(%x: f32[256]):
  %a: f32[256] = aten::relu(%x)
  %b: f32[256] = aten::neg(%a)
  %c: f32[256] = aten::add.Tensor(%a, %b, 1)
  %d: f32[256] = aten::neg(%c)
  %unused: f32[1024] = aten::repeat(%d, [4])
  %e: f32[256] = aten::neg(%d)
  return (%e)
)");
  const Footprint footprint = eager_footprint(c.graph, c.facts);
  constexpr Bytes k = 1024;
  EXPECT_EQ(footprint.at_node, (std::vector<Bytes>{k, 2 * k, 3 * k, 2 * k, 5 * k, 2 * k}));
  EXPECT_EQ(footprint.peak, 5 * k);
  EXPECT_EQ(footprint.peak_node, 4);
}

// Weights 0 and 1 share a storage, as tied weights do.
TEST(Facts, TiedWeightsAreOneStorage) {
  WeightTable weights = weight_table({{8}, {8}});
  weights.storages.pop_back();
  weights.storages[0].size = 32;
  weights.weights[1].storage = 0;
  weights.weights[1].sizes = {4};
  weights.weights[1].strides = {2};
  weights.weights[1].storage_offset = 1;
  const Case c(R"(
graph(%x: f32[8], %v: weight 0 f32[8], %w: weight 1 f32[4]):
  %a: f32[4] = aten::neg(%w)
  return (%a)
)",
               weights);
  EXPECT_EQ(c.fact("v").storage, c.fact("w").storage);
  EXPECT_EQ(c.fact("w").meta.strides, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(c.fact("w").meta.storage_offset, 1);
  EXPECT_EQ(c.storage("w").size, 32);
}

// What a step is asked as, wherever in its storage an operand stands.
TEST(Spec, EqualWorkHasEqualKeys) {
  const Case c(R"(
graph(%x: f32[64,128]):
  %p: f32[2,128] = aten::slice.Tensor(%x, 0, 0, 2, 1)
  %q: f32[2,128] = aten::slice.Tensor(%x, 0, 7, 9, 1)
  %r: f32[2,128] = aten::relu(%p)
  %s: f32[2,128] = aten::relu(%q)
  %t: f32[2,127]{128,1} = aten::slice.Tensor(%q, 1, 1, 128, 1)
  %u: f32[2,127] = aten::relu(%t)
  return (%r, %s, %u)
)");
  EXPECT_EQ(c.facts.specs[2].key(), c.facts.specs[3].key());
  EXPECT_EQ(c.facts.specs[2].tensors[0].storage_offset, 0);
  EXPECT_EQ(c.facts.specs[2].tensors[0].storage_bytes, 1024);
  // One element in: another alignment class.
  EXPECT_EQ(c.facts.specs[5].tensors[0].storage_offset, 1);
  EXPECT_EQ(c.facts.specs[5].tensors[0].storage_bytes, 4 * (1 + 128 + 127));
  EXPECT_EQ(c.fact("q").meta.storage_offset, 7 * 128);
  EXPECT_EQ(c.fact("t").meta.storage_offset, 7 * 128 + 1);
}

TEST(Spec, OperandsOfOneStorageKeepTheirDistance) {
  const Case c(R"(
graph(%x: f32[1024], %y: f32[10]):
  %p: f32[10] = aten::slice.Tensor(%x, 0, 300, 310, 1)
  %q: f32[10] = aten::slice.Tensor(%x, 0, 400, 410, 1)
  %r: f32[10] = aten::addcmul(%q, %y, %p, 1)
  %s: f32[10] = aten::mul.Tensor(%y, %y)
  return (%r, %s)
)");
  const StepSpec& spec = c.facts.specs[2];
  EXPECT_EQ(spec.storage_group, (std::vector<std::int32_t>{0, 1, 0}));
  // 300 elements = 1200 bytes: 1024 of them are taken off.
  EXPECT_EQ(spec.tensors[2].storage_offset, 300 - 256);
  EXPECT_EQ(spec.tensors[0].storage_offset, 400 - 256);
  EXPECT_EQ(spec.tensors[0].storage_bytes, 4 * (410 - 256));
  EXPECT_EQ(spec.tensors[2].storage_bytes, 4 * (410 - 256));
  EXPECT_EQ(spec.tensors[1].storage_bytes, 40);
  // x * x: one tensor, both arguments refer to it.
  EXPECT_EQ(c.facts.specs[3].tensors.size(), 1U);
  EXPECT_EQ(c.facts.specs[3].args, (std::vector<Arg>{Ref{0}, Ref{0}}));
}

TEST(Spec, AsStridedKeepsItsWholeStorage) {
  const Case c(R"(
graph(%x: f32[1024]):
  %p: f32[10] = aten::slice.Tensor(%x, 0, 300, 310, 1)
  %q: f32[4] = aten::as_strided(%p, [4], [1], 900)
  return (%q)
)");
  EXPECT_EQ(c.facts.specs[1].tensors[0].storage_offset, 300);
  EXPECT_EQ(c.facts.specs[1].tensors[0].storage_bytes, 4096);
}

TEST(Spec, RunTimeNumbersHavePlaceholders) {
  const Case c(R"(
graph(%x: f32[8], %n: int, %p: bool):
  %m: int = sym::add(%n, 1)
  %a: f32[6] dynamic = aten::slice.Tensor(%x, 0, 0, %m, 1)
  %b: f32[6,2] dynamic = aten::expand(%a, mixed[%m=6, 2], False)
  %c: f32[8] = lowwater::select(%p, %x, %x)
  return (%b, %c)
)");
  EXPECT_EQ(c.facts.nodes[0]->outputs.at(0).home, OutputHome::scalar);
  EXPECT_EQ(c.fact("m").storage, kNone);
  EXPECT_EQ(c.facts.specs[1].args[3], Arg(std::int64_t{1}));
  EXPECT_TRUE(c.facts.specs[1].worst_case);
  EXPECT_EQ(c.facts.specs[2].args[1], Arg(std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(c.facts.specs[3].args[0], Arg(true));
  EXPECT_FALSE(c.facts.specs[3].worst_case);
  EXPECT_EQ(c.storage("c").owner, Storage::Owner::node);
}

// Answers every question with one record.
class OneRecord final : public CostProvider {
 public:
  explicit OneRecord(StepRecord record) : record_(std::move(record)) {}
  const StepRecord& record(const StepSpec&) override { return record_; }
  [[nodiscard]] Bytes alignment() const override { return 64; }

 private:
  StepRecord record_;
};

StepOutput fresh(std::int32_t allocation, std::vector<std::int64_t> sizes) {
  TensorMeta meta{DType::f32, sizes, contiguous_strides(sizes), 0, 0};
  return {OutputHome::fresh, allocation, meta};
}

TEST(Facts, RecordsThatContradictTheArchiveAreRefused) {
  const Graph graph = parse_graph(R"(
graph(%x: f32[4]):
  %y: f32[4] = aten::relu(%x) @ "model.py:7"
  return (%y)
)");
  const auto collect = [&](StepRecord record) {
    OneRecord provider(std::move(record));
    collect_facts(graph, {}, provider);
  };
  try {
    collect({{{true, 0, 20}}, {fresh(0, {5})}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(error.what(),
                 "model.py:7: aten::relu returned f32[5] where the archive says f32[4] (%y)");
  }
  EXPECT_THROW(collect({}), Error);
  EXPECT_NO_THROW(collect({{{true, 0, 16}}, {fresh(0, {4})}}));
}

TEST(Facts, OutputsOfOneAllocationShareAStorage) {
  const Graph graph = parse_graph(R"(
graph(%x: f32[4]):
  %y: f32[4], _, %z: f32[4], %none: f32[0] = aten::many(%x)
  return (%y, %z)
)");
  StepOutput second = fresh(1, {4});
  second.meta.storage_offset = 4;
  OneRecord provider({{{true, 0, 64}, {true, 1, 48}, {false, 0, 0}, {true, 2, 8}},
                      {fresh(1, {4}), fresh(2, {2}), second, {OutputHome::absent, 0, {}}}});
  const Facts facts = collect_facts(graph, {}, provider);
  ASSERT_EQ(facts.storages.size(), 3U);  // x, allocation 1, the dropped allocation 2
  EXPECT_EQ(facts.storages[1].values, (std::vector<ValueId>{1, 2}));
  EXPECT_EQ(facts.storages[1].size, 48);
  EXPECT_EQ(facts.values[2].meta.storage_offset, 4);
  EXPECT_TRUE(facts.storages[2].values.empty());
  EXPECT_EQ(facts.values[3].storage, kNone);
  EXPECT_EQ(live_ranges(graph, facts)[2].end, 0);
}

TEST(Facts, UndefinedTensorsAreHandedOnAndHostTensorsRefused) {
  const Graph graph = parse_graph(R"(
graph(%x: f32[4]):
  %y: f32[4] = custom::first(%x)
  %z: f32[4] = custom::second(%x, %y)
  return (%x)
)");
  StepOutput output{OutputHome::absent, 0, {}};
  OneRecord undefined({{}, {output}});
  EXPECT_EQ(collect_facts(graph, {}, undefined).specs[1].args[1], Arg(std::monostate{}));
  output.meta.storage_bytes = 16;
  OneRecord elsewhere({{}, {output}});
  try {
    collect_facts(graph, {}, elsewhere);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.where(), "custom::second");
    EXPECT_EQ(error.message(),
              "custom::first returned %y in memory that is neither its own nor an operand's");
  }
}

TEST(Facts, ProgressCanStop) {
  const Graph graph = parse_graph(R"(
graph(%x: f32[4]):
  %y: f32[4] = aten::relu(%x)
  %z: f32[4] = aten::relu(%y)
  return (%z)
)");
  std::vector<int> done;
  collect_facts(graph, {}, Case::provider(), [&](int i, int total) {
    EXPECT_EQ(total, 2);
    done.push_back(i);
    return true;
  });
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2}));
  try {
    collect_facts(graph, {}, Case::provider(), [](int i, int) { return i < 1; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
}

}  // namespace
}  // namespace lowwater
