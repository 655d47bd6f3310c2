// Generated packing problems on which greedy packers do badly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/packing.h"

namespace lowwater {

struct PackInstance {
  std::string name;
  std::vector<PackItem> items;
  Bytes optimum = 0;   // a packing of this height exists by construction
};

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
PackInstance dissection(std::uint64_t seed, int pieces, Bytes height, std::int64_t ticks,
                        double dropped = 0);

// Like the instances that on-chip allocators publish: sizes and durations over
// three decades, most buffers short, live bytes close to the bound most of the time.
PackInstance crowded(std::uint64_t seed, int buffers, Bytes height, std::int64_t ticks);

// Height of greedy-by-size, first fit: what an instance is judged hard by.
Bytes greedy_by_size(const std::vector<PackItem>& items);

// Those of many seeds on which greedy-by-size is at least `excess` above the bound.
std::vector<PackInstance> hard_instances(int count, double excess = 0.25);

}  // namespace lowwater
