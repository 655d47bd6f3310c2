#include "plan/packing_exact.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

using Items = std::vector<std::int32_t>;

class Search {
 public:
  Search(const PackPart& part, Bytes target, std::span<const std::int32_t> order,
         std::int64_t node_limit, Deadline deadline, const ExactSwitches& switches)
      : part_(part),
        target_(target),
        node_limit_(node_limit),
        deadline_(deadline),
        on_(switches),
        thrift_(switches.thrift),
        rank_(order.size()),
        lowest_(order.size(), 0),
        offset_(order.size(), -1),
        waiting_(part.section_total),
        stacked_(waiting_.size()),
        next_(waiting_.size() + 1) {
    for (std::size_t k = 0; k < order.size(); ++k)
      rank_[at(order[k])] = static_cast<std::int32_t>(k);
  }

  ExactResult run(std::span<const std::int32_t> order) {
    ExactResult result;
    result.end = part_.bound > target_ ? SearchEnd::exhausted
                                       : solve(Items(order.begin(), order.end()), 0, -1);
    result.nodes = nodes_;
    if (result.end != SearchEnd::found) return result;
    result.placement.offsets = offset_;
    for (std::int32_t i = 0; i < part_.count(); ++i)
      result.placement.height =
          std::max(result.placement.height, offset_[at(i)] + part_.size[at(i)]);
    return result;
  }

 private:
  // One undoable change: item was placed (old < 0), or its lowest offset rose from `old`.
  struct Change {
    std::int32_t item = 0;
    Bytes old = -1;
  };

  bool before(std::int32_t a, std::int32_t b) const {
    return lowest_[at(a)] != lowest_[at(b)] ? lowest_[at(a)] < lowest_[at(b)]
                                            : rank_[at(a)] < rank_[at(b)];
  }

  // Places all of `items` (unplaced), none below (floor, rank).
  SearchEnd solve(Items items, Bytes floor, std::int32_t rank) {
    if (items.empty()) return SearchEnd::found;
    if (++nodes_ > node_limit_) return SearchEnd::limit;
    if ((nodes_ & 63) == 0 && std::chrono::steady_clock::now() > deadline_) return SearchEnd::limit;
    sort(items);
    if (on_.inference && !fits_above_floors(items, floor)) return SearchEnd::exhausted;
    if (!on_.decompose) return branch(items, floor, rank);
    for (const Items& group : groups_of(items)) {
      const SearchEnd end = branch(group, floor, rank);
      if (end != SearchEnd::found) return end;
    }
    return SearchEnd::found;
  }

  SearchEnd branch(const Items& items, Bytes floor, std::int32_t rank) {
    Bytes room = lowest_[at(items[0])] + part_.size[at(items[0])];
    for (const std::int32_t i : items) room = std::min(room, lowest_[at(i)] + part_.size[at(i)]);
    for (const std::int32_t i : items) {
      const Bytes offset = lowest_[at(i)];
      if (on_.canonical && (offset < floor || (offset == floor && rank_[at(i)] < rank))) continue;
      if (on_.dominance && offset >= room) break;
      const std::size_t mark = trail_.size();
      bool hat = false;
      SearchEnd end = SearchEnd::exhausted;
      if (place(i, hat)) {
        Items rest;
        rest.reserve(items.size() - 1);
        for (const std::int32_t j : items)
          if (j != i) rest.push_back(j);
        end = solve(std::move(rest), on_.canonical ? offset : 0, rank_[at(i)]);
      }
      if (end != SearchEnd::exhausted) return end;
      undo(mark);
      if (on_.hatless && !hat) break;
    }
    return SearchEnd::exhausted;
  }

  // Lists stay nearly sorted from parent to child.
  void sort(Items& items) const {
    for (std::size_t k = 1; k < items.size(); ++k) {
      const std::int32_t item = items[k];
      std::size_t hole = k;
      for (; hole > 0 && before(item, items[hole - 1]); --hole) items[hole] = items[hole - 1];
      items[hole] = item;
    }
  }

  // Puts item i at its lowest offset and lifts what waits above it. False if
  // something then sticks out. `hat`: something was waiting above it.
  bool place(std::int32_t i, bool& hat) {
    const Bytes top = lowest_[at(i)] + part_.size[at(i)];
    offset_[at(i)] = lowest_[at(i)];
    trail_.push_back({i, -1});
    for (std::int32_t s = part_.first[at(i)]; s < part_.last[at(i)]; ++s)
      waiting_[at(s)] -= part_.size[at(i)];
    bool fits = top <= target_;
    part_.for_each_neighbour(i, [&](std::int32_t j) {
      if (offset_[at(j)] >= 0) return;
      hat = true;
      if (lowest_[at(j)] >= top) return;
      trail_.push_back({j, lowest_[at(j)]});
      lowest_[at(j)] = top;
      fits = fits && top + part_.size[at(j)] <= target_;
    });
    return fits;
  }

  void undo(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
      const auto [item, old] = trail_.back();
      if (old >= 0) {
        lowest_[at(item)] = old;
        continue;
      }
      offset_[at(item)] = -1;
      for (std::int32_t s = part_.first[at(item)]; s < part_.last[at(item)]; ++s)
        waiting_[at(s)] += part_.size[at(item)];
    }
  }

  // How high things may reach, seen from the floor: less than the target while
  // the floor is low, if the search is told to be thrifty.
  Bytes allowed(Bytes floor) const {
    const double left = 1 - static_cast<double>(floor) / static_cast<double>(target_);
    return target_ -
           static_cast<Bytes>(thrift_ * left * static_cast<double>(target_ - part_.bound));
  }

  // In each section, all waiting items must fit between the lowest place that
  // one of them can take and the limit. `items` ascend by lowest offset, so
  // the first that reaches a section sets its floor; `next_` skips the done ones.
  bool fits_above_floors(const Items& items, Bytes floor) {
    const Bytes limit = allowed(floor);
    std::iota(next_.begin(), next_.end(), 0);
    for (const std::int32_t i : items) {
      const Bytes lowest = std::max(floor, lowest_[at(i)]);
      for (std::int32_t s = skip(part_.first[at(i)]); s < part_.last[at(i)]; s = skip(s)) {
        if (lowest + waiting_[at(s)] > limit) return false;
        next_[at(s)] = s + 1;
      }
    }
    return fits_stacked(items, floor, limit);
  }

  std::int32_t skip(std::int32_t s) {
    while (next_[at(s)] != s) {
      next_[at(s)] = next_[at(next_[at(s)])];
      s = next_[at(s)];
    }
    return s;
  }

  // The same for every threshold, at more cost: the items that cannot lie below
  // `lowest_i` must fit between it and the limit.
  //
  //   limit    ---------------
  //            | j | sizes of       lowest_i + size_i + size_j + ... <= limit
  //   lowest_i | i | i, j, ...
  bool fits_stacked(const Items& items, Bytes floor, Bytes limit) {
    std::fill(stacked_.begin(), stacked_.end(), 0);
    for (std::size_t k = items.size(); k-- > 0;) {
      const std::size_t i = at(items[k]);
      const Bytes size = part_.size[i];
      Bytes most = 0;
      for (std::int32_t s = part_.first[i]; s < part_.last[i]; ++s)
        most = std::max(most, stacked_[at(s)] += size);
      if (std::max(floor, lowest_[i]) + most > limit) return false;
    }
    return true;
  }

  // Items that are connected through common sections, each group in list order.
  std::vector<Items> groups_of(const Items& items) {
    edge_.assign(part_.section_total.size() + 1, 0);
    for (const std::int32_t i : items) {  // +1 and -1 around the inner borders of the item
      ++edge_[at(part_.first[at(i)]) + 1];
      --edge_[at(part_.last[at(i)])];
    }
    // group_[s]: a new group begins wherever nothing crosses the border before s.
    std::int32_t groups = 0, crossing = 0;
    group_.resize(part_.section_total.size());
    for (std::size_t s = 0; s < group_.size(); ++s) {
      crossing += edge_[s];
      if (s > 0 && crossing == 0) ++groups;
      group_[s] = groups;
    }
    if (groups == 0) return {items};
    std::vector<Items> all(at(groups) + 1);
    for (const std::int32_t i : items) all[at(group_[at(part_.first[at(i)])])].push_back(i);
    std::erase_if(all, [](const Items& group) { return group.empty(); });
    return all;
  }

  const PackPart& part_;
  const Bytes target_;
  const std::int64_t node_limit_;
  const Deadline deadline_;
  const ExactSwitches on_;
  const double thrift_;
  std::vector<std::int32_t> rank_;
  std::vector<Bytes> lowest_;   // of unplaced items: the top of what lies below
  std::vector<Bytes> offset_;   // -1: unplaced
  std::vector<Bytes> waiting_;  // unplaced units in each section
  std::vector<Bytes> stacked_;  // scratch: units of waiting items in each section
  std::vector<Change> trail_;
  std::vector<std::int32_t> next_, edge_, group_;
  std::int64_t nodes_ = 0;
};

}  // namespace

ExactResult search_height(const PackPart& part, Bytes target, std::span<const std::int32_t> order,
                          std::int64_t node_limit, Deadline deadline,
                          const ExactSwitches& switches) {
  return Search(part, target, order, node_limit, deadline, switches).run(order);
}

}  // namespace lowwater
