#include "plan/packing_improve.h"

#include <algorithm>

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Moves one item to an earlier position.
void advance(std::vector<std::int32_t>& order, std::size_t from, std::size_t to) {
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to),
              order.begin() + static_cast<std::ptrdiff_t>(from),
              order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
}

// A changed copy: one of the items that reach the top goes earlier, now and
// then two random items swap.
std::vector<std::int32_t> neighbour_of(const PackPart& part, const GreedyResult& from,
                                       PackRandom& random) {
  std::vector<std::int32_t> order = from.order;
  std::vector<std::size_t> sticking;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const std::int32_t i = order[k];
    if (from.placement.offsets[at(i)] + part.size[at(i)] == from.placement.height)
      sticking.push_back(k);
  }
  if (!sticking.empty()) {
    const std::size_t k = sticking[random.below(sticking.size())];
    advance(order, k, random.below(k));
  }
  if (sticking.empty() || random.below(3) == 0)
    std::swap(order[random.below(order.size())], order[random.below(order.size())]);
  return order;
}

}  // namespace

GreedyResult improve_order(const PackPart& part, const GreedyResult& start, Bytes good_enough,
                           std::int64_t rounds, Deadline deadline) {
  GreedyResult best = start, current = start;
  if (part.count() < 2) return best;
  PackRandom random;
  std::int64_t since_gain = 0;
  for (std::int64_t round = 0; round < rounds && best.placement.height > good_enough; ++round) {
    if (std::chrono::steady_clock::now() > deadline) break;
    GreedyResult next{{}, "improved", neighbour_of(part, current, random)};
    next.placement = place_in_order(part, next.order, FitRule::first);
    // Slightly worse orders are accepted, the less so the closer to the bound.
    const Bytes slack = (best.placement.height - part.bound) / 16;
    if (next.placement.height <= std::max(current.placement.height, best.placement.height + slack))
      current = std::move(next);
    if (current.placement.height < best.placement.height)
      best = current, since_gain = 0;
    else if (++since_gain % 500 == 0)
      current = best;
  }
  return best;
}

}  // namespace lowwater
