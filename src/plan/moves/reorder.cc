// Another order of the same instances. Two ways, both keep barriers where they
// are, random nodes in order, and every read with the instance that it reads:
//
//   settle   from the end, what allocates moves down to just before its first
//            reader; from the start, what frees more than it allocates moves up
//            to just after its last operand
//   list     list scheduling: of the nodes that can run, the one that leaves the
//            fewest bytes live
#include <algorithm>
#include <set>

#include "plan/moves/instances.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

using Positions = std::vector<std::int32_t>;

// What must run before each instance.
std::vector<Positions> constraints(const MoveContext& context, const Instances& all) {
  const auto n = static_cast<std::int32_t>(all.order.size());
  std::vector<Positions> before = all.reads;
  std::int32_t barrier = kNone, random = kNone;
  std::vector<std::int32_t> instance(context.graph.nodes.size(), kNone);
  std::vector<Positions> readers(at(n));
  for (std::int32_t p = 0; p < n; ++p) {
    const NodeId id = all.order[at(p)];
    if (barrier != kNone) before[at(p)].push_back(barrier);
    if (context.graph.node(id).barrier) {
      for (std::int32_t q = barrier + 1; q < p; ++q) before[at(p)].push_back(q);
      barrier = p;
    }
    if (context.random[at(id)]) {
      if (random != kNone) before[at(p)].push_back(random);
      random = p;
    }
    for (const std::int32_t q : all.reads[at(p)]) readers[at(q)].push_back(p);
    // A second instance follows the first one's readers, so that these keep reading the first.
    std::int32_t& previous = instance[at(id)];
    if (previous != kNone) {
      before[at(p)].push_back(previous);
      before[at(p)].insert(before[at(p)].end(), readers[at(previous)].begin(),
                           readers[at(previous)].end());
    }
    previous = p;
  }
  return before;
}

Bytes made_bytes(const Instances& all, std::int32_t p) {
  Bytes bytes = 0;
  for (const std::int32_t h : all.makes[at(p)]) bytes += all.holdings[at(h)].size;
  return bytes;
}

// Bytes whose only reader is p.
Bytes freed_bytes(const Instances& all, std::int32_t p) {
  Bytes bytes = 0;
  for (const std::int32_t h : all.uses[at(p)]) {
    const Holding& holding = all.holdings[at(h)];
    if (!holding.leaves && holding.users.back() == p) bytes += holding.size;
  }
  return bytes;
}

// Keys place instances between others: sorting by key gives the new order.
// Views move with what reads them.
Positions sink(const Instances& all, const std::vector<Positions>& before, Positions order) {
  std::vector<Positions> after(order.size());
  for (std::size_t p = 0; p < before.size(); ++p)
    for (const std::int32_t q : before[p]) after[at(q)].push_back(static_cast<std::int32_t>(p));
  Positions result;  // built from the end
  std::vector<std::int32_t> slot(order.size(), 0);
  struct Entry {
    std::int32_t slot, sub, position;
  };
  std::vector<Entry> entries;
  std::int32_t sub = 0;
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::int32_t p = order[k];
    std::int32_t first = static_cast<std::int32_t>(k);
    const bool moves = made_bytes(all, p) >= freed_bytes(all, p) && !after[at(p)].empty();
    if (moves) {
      first = static_cast<std::int32_t>(order.size());
      for (const std::int32_t q : after[at(p)]) first = std::min(first, slot[at(q)]);
    }
    slot[at(p)] = first;
    // Among those that share a slot, what comes earlier was visited later.
    entries.push_back({first, -sub++, p});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.slot != b.slot ? a.slot < b.slot : a.sub < b.sub;
  });
  for (const Entry& entry : entries) result.push_back(entry.position);
  return result;
}

Positions hoist(const Instances& all, const std::vector<Positions>& before,
                const Positions& order) {
  std::vector<std::int32_t> slot(order.size(), 0);
  struct Entry {
    std::int32_t slot, sub, position;
  };
  std::vector<Entry> entries;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int32_t p = order[k];
    std::int32_t last = static_cast<std::int32_t>(k);
    if (made_bytes(all, p) < freed_bytes(all, p) && !before[at(p)].empty()) {
      last = 0;
      for (const std::int32_t q : before[at(p)]) last = std::max(last, slot[at(q)]);
    }
    slot[at(p)] = last;
    entries.push_back({last, static_cast<std::int32_t>(k), p});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.slot != b.slot ? a.slot < b.slot : a.sub < b.sub;
  });
  Positions result;
  for (const Entry& entry : entries) result.push_back(entry.position);
  return result;
}

class ListScheduler {
 public:
  ListScheduler(const Instances& all, const std::vector<Positions>& before)
      : all_(all), after_(before.size()), missing_(before.size()), left_(all.holdings.size()) {
    for (std::size_t p = 0; p < before.size(); ++p) {
      const std::set<std::int32_t> unique(before[p].begin(), before[p].end());
      missing_[p] = static_cast<std::int32_t>(unique.size());
      for (const std::int32_t q : unique) after_[at(q)].push_back(static_cast<std::int32_t>(p));
      if (unique.empty()) ready_.insert(static_cast<std::int32_t>(p));
    }
    for (std::size_t h = 0; h < left_.size(); ++h)
      left_[h] = static_cast<std::int32_t>(all.holdings[h].users.size());
  }

  Positions run() {
    Positions order;
    while (!ready_.empty()) {
      const std::int32_t p = pick();
      ready_.erase(p);
      order.push_back(p);
      for (const std::int32_t h : all_.uses[at(p)]) --left_[at(h)];
      for (const std::int32_t q : after_[at(p)])
        if (--missing_[at(q)] == 0) ready_.insert(q);
    }
    return order;
  }

 private:
  // The earliest of those that add the fewest bytes.
  std::int32_t pick() const {
    std::int32_t best = *ready_.begin();
    Bytes least = change(best);
    for (const std::int32_t p : ready_) {
      if (least <= 0) break;
      if (const Bytes bytes = change(p); bytes < least) best = p, least = bytes;
    }
    return best;
  }

  Bytes change(std::int32_t p) const {
    Bytes bytes = made_bytes(all_, p);
    for (const std::int32_t h : all_.uses[at(p)])
      if (left_[at(h)] == 1 && !all_.holdings[at(h)].leaves) bytes -= all_.holdings[at(h)].size;
    return bytes;
  }

  const Instances& all_;
  std::vector<Positions> after_;
  std::vector<std::int32_t> missing_;  // by position: predecessors that did not run yet
  std::vector<std::int32_t> left_;     // by holding: readers that did not run yet
  std::set<std::int32_t> ready_;
};

}  // namespace

std::vector<Schedule> propose_reorder(const MoveContext& context, const Candidate& from) {
  const Instances all = instances_of(context, from.schedule);
  const std::vector<Positions> before = constraints(context, all);
  Positions identity;
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(all.order.size()); ++p)
    identity.push_back(p);
  const Positions sunk = sink(all, before, identity);
  const Positions listed = ListScheduler(all, before).run();
  std::vector<Schedule> proposals;
  for (const Positions& order :
       {hoist(all, before, sunk), sunk, listed, sink(all, before, listed)}) {
    std::vector<NodeId> nodes;
    for (const std::int32_t p : order) nodes.push_back(all.order[at(p)]);
    Schedule schedule = with_order(from.schedule, std::move(nodes));
    if (schedule != from.schedule &&
        std::find(proposals.begin(), proposals.end(), schedule) == proposals.end())
      proposals.push_back(std::move(schedule));
  }
  return proposals;
}

}  // namespace lowwater
