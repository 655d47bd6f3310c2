#include "plan/packing_beam.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

using Units = std::int32_t;  // halves what is copied from parent to child
constexpr Units kDone = std::numeric_limits<Units>::max();

// A partial packing.
struct State {
  std::vector<Units> lowest;  // by item that waits: where it can lie at best; kDone: placed
  std::vector<Units> offset;  // by item that is placed
  std::vector<Units> floor;  // by section: least `lowest` of what waits there; kDone: nothing waits
  std::vector<Units> waiting;  // by section: units
  std::vector<float> cost;     // by section: of what its floor leaves empty
  double sum = 0;              // of the costs
  double filled = 0;           // 0..sections: how full they are, each counting 1
  double score = 0;            // less is better
};

class Beam {
 public:
  Beam(const PackPart& part, const BeamOptions& options, std::int64_t node_limit, Deadline deadline)
      : part_(part),
        o_(options),
        node_limit_(node_limit),
        deadline_(deadline),
        items_(at(part.sections())),
        dirty_(at(part.sections()), 0),
        at_least_(at(part.sections()), 0) {
    for (std::int32_t i = 0; i < part.count(); ++i)
      for (std::int32_t s = part.first[at(i)]; s < part.last[at(i)]; ++s)
        items_[at(s)].push_back(i);
  }

  BeamResult run() {
    std::vector<State> now = {start()}, next;
    std::size_t alive = 1;
    for (std::int32_t placed = 0; placed < part_.count() && alive > 0; ++placed) {
      children_ = 0;
      for (std::size_t k = 0; k < alive; ++k) {
        if (nodes_ > node_limit_ || std::chrono::steady_clock::now() > deadline_)
          return {std::nullopt, nodes_};
        expand(now[k], next);
      }
      alive = survivors(next, now);
    }
    if (alive == 0) return {std::nullopt, nodes_};
    Placement placement{{now[0].offset.begin(), now[0].offset.end()}, 0};
    for (std::int32_t i = 0; i < part_.count(); ++i)
      placement.height = std::max(placement.height, placement.offsets[at(i)] + part_.size[at(i)]);
    return {std::move(placement), nodes_};
  }

 private:
  State start() const {
    State state;
    state.lowest.assign(at(part_.count()), 0);
    state.offset = state.lowest;
    state.floor.assign(at(part_.sections()), 0);
    for (const Bytes total : part_.section_total)
      state.waiting.push_back(static_cast<Units>(total));
    state.cost.assign(at(part_.sections()), 0);
    return state;
  }

  Units size(std::int32_t i) const { return static_cast<Units>(part_.size[at(i)]); }

  // What can lie on the lowest floor does so in one child each; then nothing
  // does and the floor rises, and so on.
  void expand(const State& from, std::vector<State>& next) {
    open_ = from;
    for (int closed = 0; closed < o_.max_closed; ++closed) {
      const std::int32_t s = lowest_section(open_);
      const Units level = open_.floor[at(s)];
      if (level == kDone) return;
      for (const std::int32_t i : items_[at(s)]) {
        if (open_.lowest[at(i)] != level) continue;
        if (next.size() <= children_) next.emplace_back();
        next[children_] = open_;
        ++nodes_;
        if (place(next[children_], i)) ++children_;
      }
      if (!close(open_, s)) return;
    }
  }

  std::int32_t lowest_section(const State& state) const {
    if (!o_.mirrored)
      return static_cast<std::int32_t>(std::min_element(state.floor.begin(), state.floor.end()) -
                                       state.floor.begin());
    return static_cast<std::int32_t>(state.floor.rend() -
                                     std::min_element(state.floor.rbegin(), state.floor.rend())) -
           1;
  }

  bool place(State& state, std::int32_t i) {
    const Units bottom = state.lowest[at(i)], top = bottom + size(i);
    state.offset[at(i)] = bottom;
    state.lowest[at(i)] = kDone;
    part_.for_each_neighbour(i, [&](std::int32_t j) { lift(state, j, top); });
    for (std::int32_t s = part_.first[at(i)]; s < part_.last[at(i)]; ++s) {
      state.waiting[at(s)] -= size(i);
      state.filled +=
          static_cast<double>(size(i)) / static_cast<double>(part_.section_total[at(s)]);
      mark(s);
      at_least_[at(s)] = top;
    }
    return settle(state);
  }

  // Nothing will lie on the floor of section s: it rises to where something could
  // lie next. What lies on the floor now can only be lifted by what comes below
  // it in another section.
  bool close(State& state, std::int32_t s) {
    const Units level = state.floor[at(s)];
    Units next = kDone;
    std::int32_t from = s, to = s + 1;  // sections of what lies on the floor
    for (const std::int32_t i : items_[at(s)]) {
      if (state.lowest[at(i)] > level)
        next = std::min(next, state.lowest[at(i)]);
      else
        from = std::min(from, part_.first[at(i)]), to = std::max(to, part_.last[at(i)]);
    }
    for (std::int32_t j = 0; j < part_.count(); ++j) {
      const std::int32_t first = part_.first[at(j)], last = part_.last[at(j)];
      if (state.lowest[at(j)] == kDone || first >= to || last <= from || (first <= s && s < last))
        continue;
      next = std::min(next, state.lowest[at(j)] + size(j));
    }
    if (next == kDone) return false;
    for (const std::int32_t i : items_[at(s)]) lift(state, i, next);
    mark(s);
    return settle(state);
  }

  // Item j waits; it cannot lie below `level` any more.
  void lift(State& state, std::int32_t j, Units level) {
    const Units old = state.lowest[at(j)];
    if (old >= level) return;
    state.lowest[at(j)] = level;
    for (std::int32_t s = part_.first[at(j)]; s < part_.last[at(j)]; ++s)
      if (state.floor[at(s)] == old) mark(s);
  }

  void mark(std::int32_t s) {
    if (dirty_[at(s)] != 0) return;
    dirty_[at(s)] = 1;
    queue_.push_back(s);
  }

  // Floors and costs of the marked sections. False: one cannot meet the target any more.
  bool settle(State& state) {
    bool fits = true;
    for (const std::int32_t s : queue_) {
      const Units least =
          std::max(state.floor[at(s)], std::exchange(at_least_[at(s)], 0));  // floors never sink
      dirty_[at(s)] = 0;
      if (!fits) continue;
      Units floor = kDone;
      for (const std::int32_t i : items_[at(s)])
        if ((floor = std::min(floor, state.lowest[at(i)])) == least) break;
      state.floor[at(s)] = floor;
      fits = floor == kDone || floor + state.waiting[at(s)] <= o_.target;
      const float cost = cost_of(state, s);
      state.sum += static_cast<double>(cost) - static_cast<double>(state.cost[at(s)]);
      state.cost[at(s)] = cost;
    }
    queue_.clear();
    state.score = state.sum / std::pow(state.filled / part_.sections() + 0.02, o_.ahead);
    return fits;
  }

  float cost_of(const State& state, std::int32_t s) const {
    if (state.floor[at(s)] == kDone) return 0;
    const auto total = static_cast<double>(part_.section_total[at(s)]),
               aim = static_cast<double>(o_.aim);
    const double waste =
        static_cast<double>(state.floor[at(s)]) + static_cast<double>(state.waiting[at(s)]) - total;
    return static_cast<float>(std::pow(waste / (1.002 * aim - total), o_.power));
  }

  // Moves the best children to `to`; how many.
  std::size_t survivors(std::vector<State>& children, std::vector<State>& to) {
    std::vector<std::size_t> order(children_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return children[a].score < children[b].score;
    });
    std::size_t kept = 0;
    for (const std::size_t k : order) {
      if (kept >= at(o_.width)) break;
      // Twins: the same items placed, the same floors. Their scores are all but equal.
      bool twin = false;
      for (std::size_t other = kept;
           other-- > 0 && !twin &&
           to[other].score >= children[k].score - 1e-6 * std::abs(children[k].score);)
        twin = to[other].waiting == children[k].waiting && to[other].lowest == children[k].lowest;
      if (twin || !fits_stacked(children[k])) continue;
      if (to.size() <= kept) to.emplace_back();
      std::swap(to[kept++], children[k]);
    }
    return kept;
  }

  // What cannot lie below `lowest_i` must fit between it and the target: for
  // every i, the sizes of those that wait in a section of i and start no lower.
  bool fits_stacked(const State& state) {
    by_lowest_.clear();
    for (std::int32_t i = 0; i < part_.count(); ++i)
      if (state.lowest[at(i)] != kDone) by_lowest_.emplace_back(-state.lowest[at(i)], i);
    std::sort(by_lowest_.begin(), by_lowest_.end());
    stacked_.assign(at(part_.sections()), 0);
    for (const auto& [minus_lowest, i] : by_lowest_) {
      Units most = 0;
      for (std::int32_t s = part_.first[at(i)]; s < part_.last[at(i)]; ++s)
        most = std::max(most, stacked_[at(s)] += size(i));
      if (most - minus_lowest > o_.target) return false;
    }
    return true;
  }

  const PackPart& part_;
  const BeamOptions& o_;
  const std::int64_t node_limit_;
  const Deadline deadline_;
  std::vector<std::vector<std::int32_t>> items_;  // by section
  std::vector<char> dirty_;                       // by section: in the queue
  std::vector<Units> at_least_;  // by section in the queue: what its floor will not be below
  std::vector<std::int32_t> queue_;
  std::vector<std::pair<Units, std::int32_t>> by_lowest_;  // scratch of fits_stacked
  std::vector<Units> stacked_;
  State open_;  // scratch of expand
  std::size_t children_ = 0;
  std::int64_t nodes_ = 0;
};

}  // namespace

BeamResult beam_search(const PackPart& part, const BeamOptions& options, std::int64_t node_limit,
                       Deadline deadline) {
  return Beam(part, options, node_limit, deadline).run();
}

}  // namespace lowwater
