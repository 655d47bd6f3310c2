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

// Two searches take turns, as which of them is lucky is not known beforehand:
// one tries for the bound itself with ever more nodes, the other restarts often,
// from shuffled orders, on targets that are easier to meet.
class Searches {
 public:
  Searches(const PackPart& part, Bytes good_enough, Effort& effort, Best& best)
      : part_(part), good_enough_(good_enough), effort_(effort), best_(best) {
    for (const OrderKey key : {OrderKey::pressure, OrderKey::area, OrderKey::duration, OrderKey::size})
      orders_.push_back(order_by(part, key));
    won_ = orders_[0];
  }

  void run() {
    std::int64_t on_bound = 0, on_restarts = 0, limit = 4 * part_.count() + 100;
    for (int turn = 0; !done();) {
      if (on_bound <= on_restarts) {
        on_bound += attempt(low(), orders_[static_cast<std::size_t>(turn) % 4], limit, 0);
        if (++turn % 4 == 0) limit *= 2;
      } else {
        on_restarts += restart();
      }
    }
  }

 private:
  [[nodiscard]] Bytes low() const { return std::max(best_.bound, good_enough_); }
  [[nodiscard]] bool done() const { return best_.placement.height <= low() || effort_.spent(); }

  std::int64_t restart() {
    static constexpr double kTargets[] = {0.97, 0.5, 0.8, 0.25};   // between bound and best
    const std::int64_t round = restarts_++;
    const auto gap = static_cast<double>(best_.placement.height - 1 - low());
    const Bytes target = low() + static_cast<Bytes>(gap * kTargets[round / 4 % 4]);
    // Luby's sequence 1 1 2 1 1 2 4 ...: mostly short, sometimes long.
    const std::int64_t step = round / 16 + 1, length = step & -step;
    const auto& base = round % 2 == 0 ? orders_[static_cast<std::size_t>(round / 2) % 4] : won_;
    const double strength = 0.02 + 0.3 * random_.unit() * random_.unit();
    const double thrift = round % 3 == 0 ? 0 : random_.unit();
    return attempt(target, shuffled(base, strength), 4 * part_.count() * length, thrift);
  }

  // Each item moves by up to `strength` of the list's length.
  std::vector<std::int32_t> shuffled(const std::vector<std::int32_t>& order, double strength) {
    std::vector<std::pair<double, std::int32_t>> keys;
    const auto reach = strength * static_cast<double>(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      keys.emplace_back(static_cast<double>(k) + reach * random_.unit(), order[k]);
    std::sort(keys.begin(), keys.end());
    std::vector<std::int32_t> result;
    for (const auto& [key, item] : keys) result.push_back(item);
    return result;
  }

  // Returns the nodes spent.
  std::int64_t attempt(Bytes target, std::vector<std::int32_t> order, std::int64_t limit, double thrift) {
    ExactResult found = search_height(part_, target, order, std::min(limit, effort_.nodes), effort_.deadline,
                                      {.thrift = thrift});
    effort_.nodes -= found.nodes;
    if (found.end == SearchEnd::exhausted && thrift == 0) best_.bound = std::max(best_.bound, target + 1);
    if (found.end == SearchEnd::found) {
      best_.placement = std::move(found.placement);
      best_.method = "exact";
      won_ = std::move(order);
    }
    return std::max<std::int64_t>(found.nodes, 1);
  }

  const PackPart& part_;
  const Bytes good_enough_;
  Effort& effort_;
  Best& best_;
  std::vector<std::vector<std::int32_t>> orders_;
  std::vector<std::int32_t> won_;   // the order of the latest success
  PackRandom random_;
  std::int64_t restarts_ = 0;
};

Best pack_part(const PackPart& part, Bytes good_enough, Effort& effort) {
  GreedyResult greedy = greedy_portfolio(part, std::max(part.bound, good_enough));
  const auto done = [&](Bytes height) { return height <= std::max(part.bound, good_enough); };
  if (!done(greedy.placement.height) && !effort.spent()) {
    const std::int64_t rounds = std::min<std::int64_t>(200, effort.nodes / part.count());
    greedy = improve_order(part, greedy, std::max(part.bound, good_enough), rounds, effort.deadline);
  }
  Best best{std::move(greedy.placement), std::move(greedy.method), part.bound};
  if (!done(best.placement.height) && part.count() <= kMaxExactItems)
    Searches(part, good_enough, effort, best).run();
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
