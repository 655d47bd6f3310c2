// Local search over orders: what sticks out of the best packing goes earlier.
#pragma once

#include <cstdint>

#include "plan/packing_exact.h"
#include "plan/packing_greedy.h"

namespace lowwater {

// Starts from `start.order`; returns the best found. Deterministic (fixed seed)
// unless the deadline strikes before `rounds` placements were tried.
GreedyResult improve_order(const PackPart& part, const GreedyResult& start, Bytes good_enough,
                           std::int64_t rounds, Deadline deadline);

}  // namespace lowwater
