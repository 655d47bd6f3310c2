#include "analysis/step.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace lowwater {
namespace {

TensorMeta meta(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
  return {DType::f32, std::move(sizes), std::move(strides), 0, 0};
}

TEST(TensorMeta, ExtentReachesFromTheFirstToTheLastElement) {
  EXPECT_EQ(meta({2, 3}, {3, 1}).extent_bytes(), 24);
  EXPECT_EQ(meta({2, 3}, {10, 1}).extent_bytes(), 4 * (10 + 2 + 1));
  EXPECT_EQ(meta({5, 3}, {0, 1}).extent_bytes(), 12);  // expanded
  EXPECT_EQ(meta({}, {}).extent_bytes(), 4);
  EXPECT_EQ(meta({4, 0}, {1, 1}).extent_bytes(), 0);
}

TEST(TensorMeta, LayoutIgnoresDimensionsOfSizeOne) {
  EXPECT_TRUE(same_layout(meta({1, 3}, {3, 1}), meta({1, 3}, {99, 1})));
  EXPECT_FALSE(same_layout(meta({2, 3}, {3, 1}), meta({2, 3}, {1, 2})));
  EXPECT_FALSE(same_layout(meta({2, 3}, {3, 1}), meta({3, 2}, {2, 1})));
  TensorMeta half = meta({2, 3}, {3, 1});
  half.dtype = DType::f16;
  EXPECT_FALSE(same_layout(meta({2, 3}, {3, 1}), half));
}

StepSpec spec_with(Arg arg) {
  StepSpec spec;
  spec.op = "aten::op";
  spec.args = {std::move(arg)};
  return spec;
}

// Every one is another question, although several look alike.
TEST(StepKey, TellsArgumentsApart) {
  const std::vector<Arg> args = {std::monostate{},
                                 Ref{0},
                                 RefList{{Ref{0}}},
                                 RefList{},
                                 MixedInts{{1}, {Ref{}}},
                                 WrappedNumber{std::int64_t{1}},
                                 WrappedNumber{1.0},
                                 WrappedNumber{true},
                                 true,
                                 false,
                                 std::int64_t{1},
                                 std::int64_t{-1},
                                 1.0,
                                 -0.0,
                                 0.0,
                                 0.1,
                                 std::nextafter(0.1, 1.0),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::complex<double>(1, 0),
                                 std::complex<double>(0, 1),
                                 std::string("1"),
                                 std::string(""),
                                 std::string("a,b"),
                                 DType::f32,
                                 DType::f64,
                                 MemoryFormat::contiguous,
                                 MemoryFormat::channels_last,
                                 Layout::strided,
                                 DeviceArg::plan_device,
                                 DeviceArg::host,
                                 std::vector<bool>{true},
                                 std::vector<std::int64_t>{1},
                                 std::vector<std::int64_t>{},
                                 std::vector<std::int64_t>{1, 1},
                                 std::vector<std::int64_t>{11},
                                 std::vector<double>{1}};
  std::set<std::string> keys;
  for (const Arg& arg : args) keys.insert(spec_with(arg).key());
  EXPECT_EQ(keys.size(), args.size());
}

TEST(StepKey, CountsTensorsGroupsVariantAndWorstCase) {
  StepSpec base = spec_with(RefList{{Ref{0}, Ref{1}}});
  base.tensors = {meta({2, 3}, {3, 1}), meta({2, 3}, {3, 1})};
  base.storage_group = {0, 1};
  StepSpec strides = base, offset = base, group = base, variant = base, worst = base, types = base;
  strides.tensors[0].strides = {1, 2};
  offset.tensors[1].storage_offset = 4;
  group.storage_group = {0, 0};
  variant.variant = "capped";
  worst.worst_case = true;
  types.output_types = {Type{}};
  std::set<std::string> keys;
  for (const StepSpec* spec : {&base, &strides, &offset, &group, &variant, &worst}) {
    keys.insert(spec->key());
  }
  EXPECT_EQ(keys.size(), 6U);
  EXPECT_EQ(types.key(), base.key());
  EXPECT_EQ(base.key(), "aten::op(T@0@1.) f32[2,3]+0/0g0 f32[2,3]+0/0g1 aten");
}

TEST(StepRecord, PeakAndTemporaries) {
  StepRecord record;
  // out 100; workspace 50 and 30 together, then 60: the peak is 180.
  record.events = {{true, 0, 100}, {true, 1, 50}, {true, 2, 30}, {false, 1, 0},
                   {false, 2, 0},  {true, 3, 60}, {false, 3, 0}};
  record.outputs = {
      {OutputHome::fresh, 0, {}}, {OutputHome::fresh, 0, {}}, {OutputHome::alias, 0, {}}};
  EXPECT_EQ(record.peak_bytes(), 180);
  EXPECT_EQ(record.temporary_bytes(), 80);
  // The output made of a temporary that lives at the peak is no temporary.
  record.outputs = {{OutputHome::fresh, 1, {}}};
  EXPECT_EQ(record.temporary_bytes(), 180);  // freed again: it is not kept
  EXPECT_EQ(StepRecord{}.peak_bytes(), 0);
}

}  // namespace
}  // namespace lowwater
