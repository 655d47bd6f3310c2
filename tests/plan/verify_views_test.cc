// The verifier's own idea of views, on a base of 2x3x4 elements.
#include "plan/verify_views.h"

#include <gtest/gtest.h>

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

TensorMeta view(Ints sizes, Ints strides, std::int64_t offset = 0) {
  return {DType::f32, std::move(sizes), std::move(strides), offset, 0};
}

const TensorMeta kBase = view({2, 3, 4}, {12, 4, 1}, 100);

ViewCheck check(const std::string& op, std::vector<Arg> more, const TensorMeta& shown,
                std::size_t index = 0) {
  Node node;
  node.op = op;
  node.args = {Ref{0}};
  node.args.insert(node.args.end(), more.begin(), more.end());
  return check_view(node, index, kBase, shown);
}

Arg n(std::int64_t value) { return value; }

TEST(VerifyViews, EachOperatorShowsItsElements) {
  const ViewCheck same = ViewCheck::same;
  EXPECT_EQ(check("aten::view", {Ints{6, 4}}, view({6, 4}, {4, 1}, 100)), same);
  EXPECT_EQ(check("aten::alias", {}, kBase), same);
  EXPECT_EQ(check("aten::unsqueeze", {n(1)}, view({2, 1, 3, 4}, {12, 77, 4, 1}, 100)), same);
  EXPECT_EQ(check("aten::permute", {Ints{2, 0, -2}}, view({4, 2, 3}, {1, 12, 4}, 100)), same);
  EXPECT_EQ(check("aten::transpose.int", {n(0), n(-1)}, view({4, 3, 2}, {1, 4, 12}, 100)), same);
  EXPECT_EQ(check("aten::select.int", {n(1), n(-1)}, view({2, 4}, {12, 1}, 108)), same);
  EXPECT_EQ(check("aten::slice.Tensor", {n(2), n(1), n(INT64_MAX), n(2)},
                  view({2, 3, 2}, {12, 4, 2}, 101)),
            same);
  EXPECT_EQ(
      check("aten::slice.Tensor", {n(0), Arg(), n(-1), n(1)}, view({1, 3, 4}, {12, 4, 1}, 100)),
      same);
  EXPECT_EQ(check("aten::narrow", {n(1), n(-2), n(2)}, view({2, 2, 4}, {12, 4, 1}, 104)), same);
  EXPECT_EQ(check("aten::split.Tensor", {n(3), n(2)}, view({2, 3, 1}, {12, 4, 1}, 103), 1), same);
  EXPECT_EQ(
      check("aten::split_with_sizes", {Ints{1, 2}, n(1)}, view({2, 2, 4}, {12, 4, 1}, 104), 1),
      same);
  EXPECT_EQ(check("aten::chunk", {n(2), n(1)}, view({2, 1, 4}, {12, 4, 1}, 108), 1), same);
  EXPECT_EQ(check("aten::unbind.int", {n(0)}, view({3, 4}, {4, 1}, 112), 1), same);
  EXPECT_EQ(check("aten::expand", {Ints{5, 2, 3, 4}}, view({5, 2, 3, 4}, {0, 12, 4, 1}, 100)),
            same);
}

TEST(VerifyViews, OtherElementsAreFound) {
  const ViewCheck different = ViewCheck::different;
  EXPECT_EQ(check("aten::view", {Ints{6, 4}}, view({6, 4}, {4, 1}, 101)), different);
  EXPECT_EQ(check("aten::view", {Ints{4, 6}}, view({4, 6}, {1, 4}, 100)), different);
  EXPECT_EQ(check("aten::permute", {Ints{2, 0, 1}}, view({4, 2, 3}, {1, 4, 12}, 100)), different);
  EXPECT_EQ(check("aten::select.int", {n(1), n(1)}, view({2, 4}, {12, 1}, 108)), different);
  EXPECT_EQ(check("aten::split.Tensor", {n(3), n(2)}, view({2, 3, 3}, {12, 4, 1}, 100), 1),
            different);
  EXPECT_EQ(check("aten::unbind.int", {n(0)}, view({3, 4}, {4, 1}, 112), 0), different);
  EXPECT_EQ(check("aten::expand", {Ints{5, 2, 3, 4}}, view({5, 2, 3, 4}, {12, 12, 4, 1}, 100)),
            different);
}

TEST(VerifyViews, OperatorsWithoutARuleAreUnknown) {
  EXPECT_EQ(check("aten::unfold", {n(0), n(1), n(1)}, kBase), ViewCheck::unknown);
  EXPECT_EQ(check("aten::slice.Tensor", {n(0), Ref{1}, n(2), n(1)}, kBase), ViewCheck::unknown);
}

std::vector<ByteRange> runs(const TensorMeta& meta) {
  std::vector<ByteRange> all;
  for_each_run(meta, [&](ByteRange run) { all.push_back(run); });
  return all;
}

TEST(VerifyViews, RunsOfBytes) {
  using Runs = std::vector<ByteRange>;
  EXPECT_EQ(runs(kBase), (Runs{{400, 496}}));
  EXPECT_EQ(runs(view({4, 2, 3}, {1, 12, 4})), (Runs{{0, 96}}));  // dense, permuted
  EXPECT_EQ(runs(view({2, 3}, {8, 1}, 1)), (Runs{{4, 16}, {36, 48}}));
  EXPECT_EQ(runs(view({2, 2, 1}, {6, 2, 1})), (Runs{{0, 4}, {8, 12}, {24, 28}, {32, 36}}));
  EXPECT_EQ(runs(view({5, 3}, {0, 1})), (Runs{{0, 12}}));  // expanded
  EXPECT_EQ(runs(view({}, {}, 2)), (Runs{{8, 12}}));
  EXPECT_EQ(runs(view({0, 3}, {3, 1})), Runs{});
  EXPECT_EQ(byte_extent(view({2, 3}, {8, 1}, 1)), (ByteRange{4, 48}));
  EXPECT_TRUE(byte_extent(view({0, 3}, {3, 1}, 1)).empty());
}

}  // namespace
}  // namespace lowwater
