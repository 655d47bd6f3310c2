#include "plan/packing.h"

#include <algorithm>

#include "plan/packing_exact.h"
#include "plan/packing_greedy.h"
#include "plan/packing_improve.h"
#include "plan/packing_part.h"

namespace lowwater {
namespace {

// Deeper recursions would need more stack than a thread is sure to have.
constexpr std::int32_t kMaxExactItems = 8000;

struct Best {
  Placement placement;
  std::string method;
  Bytes bound = 0;   // proven: no packing is lower
};

struct Effort {
  std::int64_t nodes = 0;
  Deadline deadline;
  [[nodiscard]] bool spent() const {
    return nodes <= 0 || std::chrono::steady_clock::now() > deadline;
  }
};

// Runs the exact search on several targets and tie-breaking orders in turn,
// each with few nodes, then with twice as many, and so on: which of them is
// lucky is not known beforehand.
void search_exactly(const PackPart& part, Bytes good_enough, Effort& effort, Best& best) {
  std::vector<std::vector<std::int32_t>> orders;
  for (const OrderKey key : {OrderKey::pressure, OrderKey::area, OrderKey::duration, OrderKey::size})
    orders.push_back(order_by(part, key));
  for (std::int64_t limit = 4 * part.count() + 100; !effort.spent(); limit *= 2) {
    for (const int quarter : {0, 1, 2, 3}) {
      for (const auto& order : orders) {
        const Bytes low = std::max(best.bound, good_enough);
        if (best.placement.height <= low || effort.spent()) return;
        const Bytes target = low + (best.placement.height - 1 - low) * quarter / 4;
        ExactResult found = search_height(part, target, order, std::min(limit, effort.nodes), effort.deadline);
        effort.nodes -= found.nodes;
        if (found.end == SearchEnd::found) best.placement = std::move(found.placement), best.method = "exact";
        if (found.end == SearchEnd::exhausted) best.bound = target + 1;
      }
    }
  }
}

Best pack_part(const PackPart& part, Bytes good_enough, Effort& effort) {
  GreedyResult greedy = greedy_portfolio(part, std::max(part.bound, good_enough));
  const auto done = [&](Bytes height) { return height <= std::max(part.bound, good_enough); };
  if (!done(greedy.placement.height) && !effort.spent()) {
    const std::int64_t rounds = std::min<std::int64_t>(200, effort.nodes / part.count());
    greedy = improve_order(part, greedy, std::max(part.bound, good_enough), rounds, effort.deadline);
  }
  Best best{std::move(greedy.placement), std::move(greedy.method), part.bound};
  if (!done(best.placement.height) && part.count() <= kMaxExactItems)
    search_exactly(part, good_enough, effort, best);
  return best;
}

}  // namespace

Bytes lower_bound(std::span<const PackItem> items, Bytes alignment) {
  std::vector<std::pair<std::int64_t, Bytes>> changes;
  for (const PackItem& item : items) {
    if (item.begin >= item.end) continue;
    changes.emplace_back(item.begin, align_up(item.size, alignment));
    changes.emplace_back(item.end, -align_up(item.size, alignment));
  }
  std::sort(changes.begin(), changes.end());   // at one time, ends (negative) come first
  Bytes live = 0, most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, live += bytes);
  return most;
}

Packing pack(std::span<const PackItem> items, const PackOptions& options) {
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  packing.method = "none";   // nothing to place
  packing.lower_bound = lower_bound(items, options.alignment);
  const Bytes unit = options.alignment;
  std::vector<PackPart> parts = split_into_parts(items, unit);
  // The tallest part sets the height: the others need not be lower than it.
  std::stable_sort(parts.begin(), parts.end(), [](const PackPart& a, const PackPart& b) { return a.bound > b.bound; });
  const auto limit = std::chrono::duration<double, std::milli>(options.time_limit_ms);
  Effort effort{options.time_limit_ms > 0 ? options.node_limit : 0,
                std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit)};
  Bytes height = 0, proven = packing.lower_bound / unit;
  for (const PackPart& part : parts) {
    const Bytes good_enough = std::max({height, options.good_enough / unit, packing.lower_bound / unit});
    Best best = pack_part(part, good_enough, effort);
    for (std::int32_t i = 0; i < part.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      packing.offsets[static_cast<std::size_t>(part.ids[at])] = best.placement.offsets[at] * unit;
    }
    if (best.placement.height > height) height = best.placement.height, packing.method = best.method;
    proven = std::max(proven, best.bound);
  }
  packing.height = height * unit;
  packing.optimal = height == proven;
  return packing;
}

}  // namespace lowwater
