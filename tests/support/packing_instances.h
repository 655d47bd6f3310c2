// Generated packing problems on which greedy packers do badly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/packing.h"

namespace lowwater {

struct PackInstance {
  std::string name;
  std::vector<PackItem> items;
  Bytes optimum = 0;  // a packing of this height exists by construction
};

namespace packing_instances_detail {

// splitmix64: the same instances on every machine and library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {  // both included
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

struct Rect {
  std::int64_t begin = 0, end = 0;
  Bytes low = 0, high = 0;
  [[nodiscard]] double area() const {
    return static_cast<double>(end - begin) * static_cast<double>(high - low);
  }
};

// Cuts `rect` in two; false if it is too small.
inline bool cut(Random& random, Rect& rect, Rect& other) {
  const bool across_time = random.unit() < 0.5;
  const std::int64_t length = across_time ? rect.end - rect.begin : rect.high - rect.low;
  if (length < 4) return false;
  const std::int64_t at = random.between(length / 8 + 1, length - length / 8 - 1);
  other = rect;
  if (across_time)
    rect.end = other.begin = rect.begin + at;
  else
    rect.high = other.low = rect.low + at;
  return true;
}

inline std::vector<Rect> dissect(Random& random, int pieces, Bytes height, std::int64_t ticks) {
  std::vector<Rect> rects = {{0, ticks, 0, height}};
  for (int tries = 0; static_cast<int>(rects.size()) < pieces && tries < 100 * pieces; ++tries) {
    // The largest of three random pieces: areas end up over several decades.
    std::size_t pick = 0;
    for (int k = 0; k < 3; ++k) {
      const auto other =
          static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(rects.size()) - 1));
      if (k == 0 || rects[other].area() > rects[pick].area()) pick = other;
    }
    Rect second;
    if (cut(random, rects[pick], second)) rects.push_back(second);
  }
  return rects;
}

inline void shuffle(Random& random, std::vector<PackItem>& items) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.next() % i)]);
}

}  // namespace packing_instances_detail

// A rectangle `height` x `ticks` cut into pieces without waste, so that its
// height is the lower bound and can be reached. Many pieces are long and thin
// or short and tall, as buffers of networks are; a few live from start to end.
//
//   +------+---------+
//   |      |         |     guillotine cuts: `pieces` pieces, then `dropped` of
//   |      +----+----+     them are removed so that there is some air
//   +------+    |    |
//   |      |    |    |
//   +------+----+----+
inline PackInstance dissection(std::uint64_t seed, int pieces, Bytes height, std::int64_t ticks,
                               double dropped = 0) {
  using namespace packing_instances_detail;
  Random random(seed);
  PackInstance instance{
      "dissection-" + std::to_string(pieces) + "-" + std::to_string(seed), {}, height};
  for (const Rect& rect : dissect(random, pieces, height, ticks))
    if (random.unit() >= dropped)
      instance.items.push_back({rect.begin, rect.end, rect.high - rect.low});
  shuffle(random, instance.items);
  return instance;
}

// Like the instances that on-chip allocators publish: sizes and durations over
// three decades, most buffers short, live bytes close to the bound most of the time.
inline PackInstance crowded(std::uint64_t seed, int buffers, Bytes height, std::int64_t ticks) {
  // Columns of time, each filled from the bottom with pieces of mixed length:
  // what is placed is remembered as a skyline, so the filled height is known.
  using namespace packing_instances_detail;
  Random random(seed);
  PackInstance instance{
      "crowded-" + std::to_string(buffers) + "-" + std::to_string(seed), {}, height};
  const std::int64_t columns = std::max<std::int64_t>(8, buffers / 4);
  std::vector<Bytes> skyline(static_cast<std::size_t>(columns), 0);
  while (static_cast<int>(instance.items.size()) < buffers) {
    // The lowest column, and how far the same height extends.
    const auto lowest = std::min_element(skyline.begin(), skyline.end());
    if (*lowest >= height) break;
    auto run = lowest;
    while (run != skyline.end() && *run == *lowest) ++run;
    const std::int64_t widest = run - lowest;
    std::int64_t width = 1;
    while (width < widest && random.unit() < 0.7) width = std::min(widest, width * 2);
    const Bytes left = height - *lowest;
    Bytes size =
        std::max<Bytes>(1, static_cast<Bytes>(static_cast<double>(height) * 0.4 * random.unit() *
                                              random.unit() * random.unit()));
    if (left - size < height / 50) size = left;
    const std::int64_t column = lowest - skyline.begin();
    const std::int64_t scale = ticks / columns;
    instance.items.push_back({column * scale, (column + width) * scale, std::min(size, left)});
    std::fill(lowest, lowest + width, *lowest + instance.items.back().size);
  }
  shuffle(random, instance.items);
  return instance;
}

// Height of greedy-by-size, first fit: what an instance is judged hard by.
inline Bytes greedy_by_size(const std::vector<PackItem>& items) {
  std::vector<PackItem> order = items;
  std::stable_sort(order.begin(), order.end(),
                   [](const PackItem& a, const PackItem& b) { return a.size > b.size; });
  std::vector<std::pair<Bytes, PackItem>> placed;  // (offset, item), ascending by offset
  Bytes height = 0;
  for (const PackItem& item : order) {
    Bytes offset = 0;
    for (const auto& [low, other] : placed) {
      if (other.begin >= item.end || item.begin >= other.end) continue;
      if (low - offset >= item.size) break;
      offset = std::max(offset, low + other.size);
    }
    const auto after = [](Bytes value, const auto& entry) { return value < entry.first; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset, after), {offset, item});
    height = std::max(height, offset + item.size);
  }
  return height;
}

// Those of many seeds on which greedy-by-size is at least `excess` above the bound.
inline std::vector<PackInstance> hard_instances(int count, double excess = 0.25) {
  std::vector<PackInstance> hard;
  for (std::uint64_t seed = 1; static_cast<int>(hard.size()) < count && seed < 2000; ++seed) {
    const int size = 100 + static_cast<int>(seed % 5) * 100;
    PackInstance instance = seed % 2 == 0 ? dissection(seed, size, kMiB, 4 * size)
                                          : crowded(seed, size, kMiB, 4 * size);
    const auto bound = static_cast<double>(lower_bound(instance.items));
    if (static_cast<double>(greedy_by_size(instance.items)) >= (1 + excess) * bound)
      hard.push_back(std::move(instance));
  }
  return hard;
}

}  // namespace lowwater
