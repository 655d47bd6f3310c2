#include "plan/packing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lowwater/error.h"
#include "packing_instances.h"
#include "plan/packing_beam.h"

namespace lowwater {
namespace {

// Is there a packing of `height`? Tries every offset of every item.
bool fits(const std::vector<PackItem>& items, Bytes height, std::vector<Bytes>& offsets) {
  const std::size_t i = offsets.size();
  if (i == items.size()) return true;
  for (Bytes offset = 0; offset + items[i].size <= height; ++offset) {
    bool clash = false;
    for (std::size_t k = 0; k < i; ++k) {
      clash = clash || (items[k].begin < items[i].end && items[i].begin < items[k].end &&
                        offsets[k] < offset + items[i].size && offset < offsets[k] + items[k].size);
    }
    if (clash) continue;
    offsets.push_back(offset);
    if (fits(items, height, offsets)) return true;
    offsets.pop_back();
  }
  return false;
}

Bytes brute_force(const std::vector<PackItem>& items) {
  for (Bytes height = lower_bound(items);; ++height)
    if (std::vector<Bytes> offsets; fits(items, height, offsets)) return height;
}

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

// `height` units are live at every tick: nothing may be wasted.
std::vector<PackItem> full_trace(std::uint64_t& state, Bytes height, std::int64_t ticks) {
  std::vector<PackItem> items, live;
  Bytes load = 0;
  for (std::int64_t t = 0; t < ticks; ++t) {
    for (std::size_t i = live.size(); t > 0 && i-- > 0;) {
      if (next(state) % 100 >= 40) continue;
      live[i].end = t;
      load -= live[i].size;
      items.push_back(live[i]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    while (load < height) {
      live.push_back(
          {t, 0, std::min<Bytes>(1 + static_cast<Bytes>(next(state) % 3), height - load)});
      load += live.back().size;
    }
  }
  for (PackItem& item : live) item.end = ticks, items.push_back(item);
  return items;
}

TEST(Packing, EqualsBruteForceOnTinyInstances) {
  std::uint64_t state = 42;
  for (int round = 0; round < 200; ++round) {
    const std::vector<PackItem> items = full_trace(state, 5, 6);
    const Packing packing = pack(items, {.time_limit_ms = 10000});
    EXPECT_TRUE(packing.optimal);
    EXPECT_EQ(packing.lower_bound, 5);
    EXPECT_EQ(packing.height, brute_force(items));
  }
}

// Rare: the live bytes never exceed 5 (6), and yet nothing packs into that.
std::vector<std::vector<PackItem>> rare_instances() {
  return {
      {{0, 1, 2},
       {0, 2, 2},
       {1, 3, 1},
       {2, 3, 1},
       {0, 4, 1},
       {3, 4, 2},
       {1, 5, 1},
       {4, 5, 3},
       {2, 6, 1},
       {5, 6, 3},
       {5, 6, 1}},
      {{0, 1, 2},
       {0, 1, 1},
       {0, 4, 2},
       {1, 5, 2},
       {4, 6, 1},
       {5, 6, 1},
       {4, 7, 1},
       {5, 7, 1},
       {1, 8, 1},
       {6, 8, 2},
       {7, 8, 2}},
      {{0, 1, 2},
       {1, 2, 1},
       {0, 4, 2},
       {0, 5, 2},
       {2, 5, 1},
       {4, 6, 1},
       {5, 6, 2},
       {5, 6, 1},
       {1, 7, 1},
       {4, 7, 1},
       {6, 8, 2},
       {6, 8, 2},
       {7, 8, 2}},
  };
}

TEST(Packing, OptimumAboveTheBoundIsProven) {
  for (const auto& items : rare_instances()) {
    const Packing packing = pack(items, {.time_limit_ms = 10000});
    EXPECT_TRUE(packing.optimal);
    EXPECT_EQ(packing.height, packing.lower_bound + 1);
    EXPECT_EQ(packing.height, brute_force(items));
  }
}

// These need holes, of the right sizes.
TEST(Packing, WideBeamsFindTheOptimumAboveTheBound) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  for (const auto& items : rare_instances()) {
    const std::vector<PackPart> parts = split_into_parts(items, 1);
    ASSERT_EQ(parts.size(), 1U);
    for (const bool mirrored : {false, true}) {
      BeamOptions options{.target = parts[0].bound,
                          .aim = parts[0].bound,
                          .width = 20'000,
                          .max_closed = 1000,
                          .mirrored = mirrored};
      EXPECT_FALSE(beam_search(parts[0], options, INT64_MAX, deadline).placement);
      options.target = options.aim = parts[0].bound + 1;
      const BeamResult found = beam_search(parts[0], options, INT64_MAX, deadline);
      ASSERT_TRUE(found.placement);
      EXPECT_EQ(found.placement->height, parts[0].bound + 1);
    }
  }
}

TEST(Packing, HardInstancesAreNearTheBoundAndRepeat) {
  const auto hard = dissection(26, 200, kMiB, 800).items;
  const PackOptions options{.time_limit_ms = 600'000, .node_limit = 100'000};
  const Packing packing = pack(hard, options), greedy = pack(hard, {.time_limit_ms = 0});
  EXPECT_GE(static_cast<double>(greedy.height), 1.05 * static_cast<double>(packing.lower_bound));
  EXPECT_LE(static_cast<double>(packing.height), 1.02 * static_cast<double>(packing.lower_bound));
  EXPECT_EQ(pack(hard, options).offsets, packing.offsets);  // two threads, one result
}

TEST(Packing, AlignmentRoundsSizesAndOffsets) {
  const std::vector<PackItem> items = {{0, 2, 65}, {1, 3, 1}, {2, 4, 64}};
  const Packing packing = pack(items, {.alignment = 64});
  EXPECT_EQ(packing.lower_bound, 192);
  EXPECT_EQ(packing.height, 192);
  EXPECT_TRUE(packing.optimal);
  for (const Bytes offset : packing.offsets) EXPECT_EQ(offset % 64, 0);
}

TEST(Packing, NothingToPlace) {
  const Packing none = pack({});
  EXPECT_EQ(none.height, 0);
  EXPECT_TRUE(none.optimal);
  const std::vector<PackItem> empty = {{0, 4, 0}, {3, 3, 100}};  // no bytes, no time
  EXPECT_EQ(pack(empty).height, 0);
  EXPECT_EQ(lower_bound(empty), 0);
}

TEST(Packing, GreedyOnlyWithoutTime) {
  const auto hard = dissection(6, 200, kMiB, 800).items;
  const Packing greedy = pack(hard, {.time_limit_ms = 0});
  EXPECT_NE(greedy.method, "exact");
  EXPECT_NE(greedy.method, "improved");
  EXPECT_GE(greedy.height, greedy.lower_bound);
}

TEST(Packing, StopsWhenGoodEnough) {
  const auto hard = dissection(6, 200, kMiB, 800).items;
  const Packing greedy = pack(hard, {.time_limit_ms = 0});
  const Packing same = pack(hard, {.time_limit_ms = 10000, .good_enough = greedy.height});
  EXPECT_LE(same.height, greedy.height);
  EXPECT_FALSE(same.optimal && same.height > same.lower_bound);
}

TEST(Packing, DissectionsHaveTheirOptimum) {
  const PackInstance instance = dissection(10, 100, kMiB, 400);
  EXPECT_EQ(lower_bound(instance.items), instance.optimum);
  EXPECT_GE(static_cast<double>(greedy_by_size(instance.items)),
            1.25 * static_cast<double>(instance.optimum));
  EXPECT_EQ(pack(instance.items, {.time_limit_ms = 60000}).height, instance.optimum);
}

TEST(PackCsv, ColumnsInAnyOrder) {
  const std::vector<PackItem> expected = {{0, 3, 4}, {3, 9, 8}};
  EXPECT_EQ(read_pack_csv("id,lower,upper,size\nb1,0,3,4\nb2,3,9,8\n"), expected);
  EXPECT_EQ(read_pack_csv("size, upper ,id,alignment,lower\r\n4,3,b1,64,0\r\n\r\n8,9,b2,64,3"),
            expected);
  EXPECT_EQ(read_pack_csv("id,start,end,size\nb1,0,2,4\nb2,3,8,8\n"), expected)
      << "`end` is inclusive";
}

std::string csv_error(const char* text) {
  try {
    read_pack_csv(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.where() + ": " + error.message();
  }
  return "accepted";
}

TEST(PackCsv, MistakesNameTheLine) {
  EXPECT_EQ(csv_error(""), "line 1: the file is empty");
  EXPECT_EQ(csv_error("id,lower,size\n"), "line 1: the header has no column 'upper' or 'end'");
  EXPECT_EQ(csv_error("lower,upper,size\n0,3,4\n0,x,4\n"), "line 3: 'x' is not a whole number");
  EXPECT_EQ(csv_error("lower,upper,size\n0,3\n"), "line 2: too few columns");
  EXPECT_EQ(csv_error("lower,upper,size\n4,3,1\n"), "line 2: the buffer ends before it begins");
  EXPECT_EQ(csv_error("lower,upper,size\n0,3,-1\n"), "line 2: the size is negative");
  EXPECT_EQ(csv_error("lower,upper,size\n0,99999999999999999999,1\n"),
            "line 2: '99999999999999999999' is not a whole number");
}

}  // namespace
}  // namespace lowwater
