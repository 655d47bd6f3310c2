#include "plan/packing_hard.h"

#include <algorithm>
#include <array>
#include <future>
#include <utility>

#include "plan/packing_beam.h"
#include "plan/packing_greedy.h"

namespace lowwater {
namespace {

// Deeper recursions would need more stack than a thread is sure to have.
constexpr std::int32_t kMaxExactItems = 8000;
// Beams count in 32 bits.
constexpr Bytes kMaxBeamHeight = Bytes{1} << 29;
// Nodes of a lane's first turn; later turns are longer.
constexpr std::int64_t kFirstTurn = 5'000, kLastTurn = 200'000;

// Three searches take turns, as which of them is lucky is not known beforehand.
// A lane is one thread's share of them, with random numbers of its own.
class Lane {
 public:
  // Of the effort of a lane, by kind of search.
  struct Shares {
    double beams = 0, restarts = 0, proofs = 0;
  };

  Lane(const PackPart& part, Bytes good_enough, Shares shares, std::size_t skip)
      : part_(part), good_enough_(good_enough) {
    for (const OrderKey key :
         {OrderKey::pressure, OrderKey::area, OrderKey::duration, OrderKey::size})
      orders_.push_back(order_by(part, key));
    won_ = orders_[0];
    for (std::size_t k = 0; k < skip; ++k) static_cast<void>(random_.unit());
    const double exact = part.count() <= kMaxExactItems ? 1 : 0;
    searches_ = {Search{&Lane::beam, shares.beams}, Search{&Lane::restart, shares.restarts * exact},
                 Search{&Lane::proof, shares.proofs * exact}};
    proof_limit_ = 4 * part.count() + 100;
  }

  // Tries to lower `best` for about `nodes` nodes; the rest of them is returned.
  std::int64_t run(BestPacking& best, std::int64_t nodes, Deadline deadline) {
    best_ = &best, nodes_ = nodes, deadline_ = deadline;
    while (nodes_ > 0 && !done() && std::chrono::steady_clock::now() <= deadline_) {
      Search* next = nullptr;  // the one furthest behind its share
      for (Search& search : searches_)
        if (search.share > 0 &&
            (next == nullptr || search.spent / search.share < next->spent / next->share))
          next = &search;
      if (next == nullptr) break;
      const std::int64_t before = nodes_;
      (this->*next->attempt)();
      next->spent += static_cast<double>(before - nodes_);
    }
    return nodes_;
  }

  [[nodiscard]] bool done(const BestPacking& best) const {
    return best.placement.height <= std::max(best.bound, good_enough_);
  }

 private:
  struct Search {
    void (Lane::*attempt)() = nullptr;
    double share = 0, spent = 0;  // nodes
  };

  [[nodiscard]] Bytes low() const { return std::max(best_->bound, good_enough_); }
  [[nodiscard]] bool done() const { return done(*best_); }
  [[nodiscard]] double random(double from, double to) {
    return from + (to - from) * random_.unit();
  }

  // A height between what is known to be impossible and what is known to work.
  Bytes target(double fraction) const {
    return low() +
           static_cast<Bytes>(static_cast<double>(best_->placement.height - 1 - low()) * fraction);
  }

  // Narrow beams first; how waste is weighed is anybody's guess, so it is drawn.
  void beam() {
    if (best_->placement.height > kMaxBeamHeight) {
      nodes_ = 0;
      return;
    }
    const std::int64_t round = beams_++;
    BeamOptions options{
        .target = target(random(0.05, 0.95)),
        .width = static_cast<std::int32_t>(8 << std::min<std::int64_t>(round / 16, 8)),
        .power = random(1, 4),
        .ahead = round % 2 == 0 ? 0 : random(0, 1.5),
        .mirrored = round / 2 % 2 != 0};
    options.aim = static_cast<Bytes>(static_cast<double>(options.target) * random(1, 1.15));
    BeamResult found = beam_search(part_, options, kMaxBeamNodes, deadline_);
    nodes_ -= std::max<std::int64_t>(found.nodes, 1);
    if (found.placement) accept(std::move(*found.placement), "beam");
  }

  // The exact search, cut short, from shuffled orders and on easy targets too.
  void restart() {
    static constexpr double kTargets[] = {0.97, 0.5, 0.8, 0.25};
    const std::int64_t round = restarts_++;
    // Luby's sequence 1 1 2 1 1 2 4 ...: mostly short, sometimes long.
    const std::int64_t step = round / 16 + 1, length = step & -step;
    const auto& base = round % 2 == 0 ? orders_[static_cast<std::size_t>(round / 2) % 4] : won_;
    const double strength = 0.02 + 0.3 * random_.unit() * random_.unit();
    const double thrift = round % 3 == 0 ? 0 : random_.unit();
    exact(target(kTargets[round / 4 % 4]), shuffled(base, strength), 4 * part_.count() * length,
          thrift);
  }

  // The exact search on the bound itself, with ever more nodes.
  void proof() {
    exact(low(), orders_[static_cast<std::size_t>(proofs_) % 4], proof_limit_, 0);
    if (++proofs_ % 4 == 0) proof_limit_ *= 2;
  }

  void exact(Bytes target, std::vector<std::int32_t> order, std::int64_t limit, double thrift) {
    ExactResult found = search_height(part_, target, order, limit, deadline_, {.thrift = thrift});
    nodes_ -= std::max<std::int64_t>(found.nodes, 1);
    if (found.end == SearchEnd::exhausted && thrift == 0)
      best_->bound = std::max(best_->bound, target + 1);
    if (found.end != SearchEnd::found) return;
    accept(std::move(found.placement), "exact");
    won_ = std::move(order);
  }

  void accept(Placement placement, const char* method) {
    if (placement.height < best_->placement.height)
      best_->placement = std::move(placement), best_->method = method;
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

  static constexpr std::int64_t kMaxBeamNodes = 5'000'000;

  const PackPart& part_;
  const Bytes good_enough_;
  std::vector<std::vector<std::int32_t>> orders_;
  std::vector<std::int32_t> won_;  // the order of the latest success
  std::array<Search, 3> searches_;
  PackRandom random_;
  std::int64_t beams_ = 0, restarts_ = 0, proofs_ = 0, proof_limit_ = 0;
  BestPacking* best_ = nullptr;
  std::int64_t nodes_ = 0;
  Deadline deadline_;
};

}  // namespace

std::int64_t search_hard(const PackPart& part, Bytes good_enough, std::int64_t node_limit,
                         Deadline deadline, BestPacking& best) {
  Lane one(part, good_enough, {.beams = 0.5, .restarts = 0.25, .proofs = 0.25}, 0);
  Lane two(part, good_enough, {.beams = 1}, 1000);
  std::int64_t left = node_limit;
  for (std::int64_t turn = kFirstTurn;
       left > 0 && !one.done(best) && std::chrono::steady_clock::now() <= deadline;
       turn = std::min(2 * turn, kLastTurn)) {
    const std::int64_t nodes = std::min(turn, left / 2 + 1);
    BestPacking first = best, second = best;
    auto other = std::async(std::launch::async, [&] { return two.run(second, nodes, deadline); });
    left -= nodes - one.run(first, nodes, deadline);
    left -= nodes - other.get();
    const Bytes bound = std::max(first.bound, second.bound);
    best = second.placement.height < first.placement.height ? std::move(second) : std::move(first);
    best.bound = bound;
  }
  return node_limit - left;
}

}  // namespace lowwater
