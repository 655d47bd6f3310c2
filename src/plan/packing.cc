#include "plan/packing.h"

#include <algorithm>

#include "plan/packing_greedy.h"
#include "plan/packing_hard.h"
#include "plan/packing_improve.h"
#include "plan/packing_part.h"

namespace lowwater {
namespace {

struct Effort {
  std::int64_t nodes = 0;
  Deadline deadline;
  [[nodiscard]] bool spent() const {
    return nodes <= 0 || std::chrono::steady_clock::now() > deadline;
  }
};

BestPacking pack_part(const PackPart& part, Bytes good_enough, Effort& effort) {
  GreedyResult greedy = greedy_portfolio(part, std::max(part.bound, good_enough));
  const auto done = [&](Bytes height) { return height <= std::max(part.bound, good_enough); };
  if (!done(greedy.placement.height) && !effort.spent()) {
    const std::int64_t rounds = std::min<std::int64_t>(200, effort.nodes / part.count());
    greedy =
        improve_order(part, greedy, std::max(part.bound, good_enough), rounds, effort.deadline);
  }
  BestPacking best{std::move(greedy.placement), std::move(greedy.method), part.bound};
  if (!done(best.placement.height) && !effort.spent())
    effort.nodes -= search_hard(part, good_enough, effort.nodes, effort.deadline, best);
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
  std::sort(changes.begin(), changes.end());  // at one time, ends (negative) come first
  Bytes live = 0, most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, live += bytes);
  return most;
}

Packing pack(std::span<const PackItem> items, const PackOptions& options) {
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  packing.method = "none";  // nothing to place
  packing.lower_bound = lower_bound(items, options.alignment);
  const Bytes unit = options.alignment;
  std::vector<PackPart> parts = split_into_parts(items, unit);
  // The tallest part sets the height: the others need not be lower than it.
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PackPart& a, const PackPart& b) { return a.bound > b.bound; });
  const auto limit = std::chrono::duration<double, std::milli>(options.time_limit_ms);
  Effort effort{options.time_limit_ms > 0 ? options.node_limit : 0,
                std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit)};
  Bytes height = 0, proven = packing.lower_bound / unit;
  for (const PackPart& part : parts) {
    const Bytes good_enough =
        std::max({height, options.good_enough / unit, packing.lower_bound / unit});
    BestPacking best = pack_part(part, good_enough, effort);
    for (std::int32_t i = 0; i < part.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      packing.offsets[static_cast<std::size_t>(part.ids[at])] = best.placement.offsets[at] * unit;
    }
    if (best.placement.height > height)
      height = best.placement.height, packing.method = best.method;
    proven = std::max(proven, best.bound);
  }
  packing.height = height * unit;
  packing.optimal = height == proven;
  return packing;
}

}  // namespace lowwater
