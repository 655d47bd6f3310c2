// Greedy packers: an order of the items, and a rule that places one after another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/packing_part.h"

namespace lowwater {

// What comes first. Every key is descending, begin ascending; ties by position.
enum class OrderKey : std::uint8_t {
  size,
  area,
  duration,
  begin,
  weighted,
  crowd,
  pressure,
};
std::vector<std::int32_t> order_by(const PackPart& part, OrderKey key);

// `first`: the lowest gap that fits. `best`: the tightest one.
enum class FitRule : std::uint8_t { first, best };
Placement place_in_order(const PackPart& part, std::span<const std::int32_t> order, FitRule rule);

// Always the item that can lie lowest, ties by the order: layers from the bottom up.
Placement place_lowest(const PackPart& part, std::span<const std::int32_t> order);

// Tries all of the above until the height is at most `good_enough`.
// The order of the winner serves the local search as its start.
struct GreedyResult {
  Placement placement;
  std::string method;  // "greedy-size", "greedy-area-best", "lowest-begin"
  std::vector<std::int32_t> order;
};
GreedyResult greedy_portfolio(const PackPart& part, Bytes good_enough);

}  // namespace lowwater
