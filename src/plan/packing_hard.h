// What is tried on a part that greedy orders leave above its lower bound.
#pragma once

#include <cstdint>
#include <string>

#include "plan/packing_exact.h"
#include "plan/packing_part.h"

namespace lowwater {

struct BestPacking {
  Placement placement;
  std::string method;
  Bytes bound = 0;  // proven: no packing is lower
};

// Improves `best` until its height is at most max(best.bound, good_enough), or
// about `node_limit` nodes are spent, or the deadline strikes. Uses two threads;
// the result does not depend on how they are scheduled. Returns the nodes spent.
std::int64_t search_hard(const PackPart& part, Bytes good_enough, std::int64_t node_limit,
                         Deadline deadline, BestPacking& best);

}  // namespace lowwater
