// A value that is kept across the peak only to be read much later is dropped
// after its last use before the peak and made again before its next use:
//
//   a  b  x ........ peak ........ y(x)        x is kept over the peak
//   a  b  x  ....... peak ....  x' y(x')       x' = the same node once more
//
// What x' reads may be gone too; then it is made again as well, if it is cheap.
// A constant that was folded (`once`) is kept all the time; it can be made again
// in the run instead.
#include <algorithm>
#include <set>

#include "plan/moves/instances.h"

namespace lowwater {
namespace {

constexpr std::size_t kMaxChain = 12;  // nodes that one value may cost
constexpr std::size_t kMaxProposals = 10;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Nodes to insert before a position.
struct Insertion {
  std::int32_t before = 0;
  std::vector<NodeId> nodes;
  Bytes saves = 0;    // bytes x steps above the target that they are no longer kept
  Bytes at_peak = 0;  // bytes that they are no longer kept at the peak
  double ms = 0;
};

class Recompute {
 public:
  Recompute(const MoveContext& context, const Candidate& from)
      : c_(context), from_(from), all_(instances_of(context, from.schedule)) {
    const Liveness live = context.model.run(from.schedule);
    above_.assign(all_.order.size() + 1, 0);
    for (std::size_t p = 0; p < all_.order.size(); ++p) {
      const bool over = live.at_step[p] + live.fixed() > context.target;
      above_[p + 1] = above_[p] + (over ? 1 : 0);
      if (over && (peak_ < 0 || live.at_step[p] > live.at_step[at(peak_)]))
        peak_ = static_cast<std::int32_t>(p);
    }
    over_ = live.total() - context.target;
  }

  std::vector<Schedule> run() {
    std::vector<Insertion> insertions;
    for (const Holding& holding : all_.holdings) {
      if (auto insertion = drop(holding)) insertions.push_back(std::move(*insertion));
    }
    std::stable_sort(insertions.begin(), insertions.end(),
                     [](const Insertion& a, const Insertion& b) {
                       return static_cast<double>(a.saves) * (b.ms + kMsFloor) >
                              static_cast<double>(b.saves) * (a.ms + kMsFloor);
                     });
    std::vector<Schedule> proposals;
    const std::size_t many = enough(insertions, &Insertion::at_peak);
    if (many > 1)
      proposals.push_back(
          insert({insertions.begin(), insertions.begin() + static_cast<std::ptrdiff_t>(many)}));
    for (std::size_t k = 0; k < std::min(kMaxProposals, insertions.size()); ++k)
      proposals.push_back(insert({insertions[k]}));
    for (Schedule& schedule : unfold()) proposals.push_back(std::move(schedule));
    return proposals;
  }

 private:
  static constexpr double kMsFloor = 0.001;

  // How many of the first together get the peak below the target; all if none do.
  template <typename Item>
  std::size_t enough(const std::vector<Item>& items, Bytes Item::*bytes) const {
    Bytes sum = 0;
    for (std::size_t k = 0; k < items.size(); ++k)
      if ((sum += items[k].*bytes) >= over_) return k + 1;
    return items.size();
  }

  std::int32_t steps_above(std::int32_t from, std::int32_t to) const {  // strictly between
    return from + 1 < to ? above_[at(to)] - above_[at(from) + 1] : 0;
  }

  // The gap between two uses that covers most steps above the target.
  std::optional<Insertion> drop(const Holding& holding) const {
    if (holding.maker == kNone || holding.size == 0 || holding.leaves) return std::nullopt;
    std::int32_t previous = holding.maker, best_steps = 0, begin = 0, end = 0;
    for (const std::int32_t user : holding.users) {
      if (const std::int32_t steps = steps_above(previous, user); steps > best_steps)
        best_steps = steps, begin = previous, end = user;
      previous = user;
    }
    if (best_steps == 0) return std::nullopt;
    const bool over_peak = begin < peak_ && peak_ < end;
    Insertion insertion{end, {}, holding.size * best_steps, over_peak ? holding.size : 0, 0};
    // Every later reader needs its values again: the maker and the views between.
    std::set<std::int32_t> again;
    for (const std::int32_t user : holding.users)
      if (user >= end && !collect(user, holding, begin, again)) return std::nullopt;
    for (const std::int32_t p : again) {
      insertion.nodes.push_back(all_.order[at(p)]);
      insertion.ms += ms_of(all_.order[at(p)]);
    }
    return insertion;
  }

  // Adds what makes the values that `user` reads of `holding`: positions up to
  // `begin`, whose own operands are still there or cheap to make again.
  bool collect(std::int32_t user, const Holding& holding, std::int32_t begin,
               std::set<std::int32_t>& again) const {
    for (const std::int32_t p : all_.reads[at(user)]) {
      if (p > begin || !belongs(p, holding)) continue;
      if (!add_again(p, begin, again)) return false;
    }
    return again.size() <= kMaxChain;
  }

  bool belongs(std::int32_t p, const Holding& holding) const {
    if (p == holding.maker) return true;
    if (!all_.makes[at(p)].empty()) return false;  // a view of it
    return std::binary_search(holding.users.begin(), holding.users.end(), p);
  }

  bool add_again(std::int32_t p, std::int32_t begin, std::set<std::int32_t>& again) const {
    if (again.contains(p)) return true;
    if (again.size() >= kMaxChain || !is_cheap(c_, all_.order[at(p)], from_.ms)) return false;
    again.insert(p);
    for (const std::int32_t q : all_.reads[at(p)]) {
      if (again.contains(q) || still_there(q, begin)) continue;
      // If it cannot be made again it is kept until then; the score will tell.
      std::set<std::int32_t> longer = again;
      if (add_again(q, begin, longer))
        again = std::move(longer);
      else if (all_.makes[at(q)].empty())
        return false;  // a view of what is dropped
    }
    return true;
  }

  // Something that q made is kept beyond `begin` anyway.
  bool still_there(std::int32_t q, std::int32_t begin) const {
    for (const std::int32_t h : all_.makes[at(q)]) {
      const Holding& holding = all_.holdings[at(h)];
      if (holding.leaves ||
          (!holding.users.empty() && holding.users.back() > peak_ && holding.users.back() > begin &&
           steps_above(begin, holding.users.back()) == 0))
        return true;
    }
    return false;
  }

  double ms_of(NodeId node) const {
    const StepRecord* record = c_.facts.nodes[at(node)];
    return record == nullptr ? 0 : record->ms;
  }

  Schedule insert(std::vector<Insertion> insertions) const {
    std::stable_sort(insertions.begin(), insertions.end(),
                     [](const Insertion& a, const Insertion& b) { return a.before < b.before; });
    std::vector<NodeId> order;
    std::size_t next = 0;
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(all_.order.size()); ++p) {
      for (; next < insertions.size() && insertions[next].before == p; ++next)
        order.insert(order.end(), insertions[next].nodes.begin(), insertions[next].nodes.end());
      order.push_back(all_.order[at(p)]);
    }
    return with_order(from_.schedule, std::move(order));
  }

  // --- constants ---

  struct Constant {
    Bytes bytes = 0;
    std::int32_t first = 0;  // its first reader
    NodeId node = kNone;
  };

  // The largest folded constants, enough of them at once and one by one: each is
  // made in the run, just before its first reader.
  std::vector<Schedule> unfold() const {
    const std::vector<Constant> constants = read_constants();
    std::vector<Schedule> proposals;
    const auto many = static_cast<std::ptrdiff_t>(enough(constants, &Constant::bytes));
    if (many > 1)
      proposals.push_back(unfolded({constants.begin(), constants.begin() + many}, constants));
    for (std::size_t k = 0; k < std::min(kMaxProposals, constants.size()); ++k)
      proposals.push_back(unfolded({constants[k]}, constants));
    return proposals;
  }

  // What the body reads of `once`, largest first.
  std::vector<Constant> read_constants() const {
    std::vector<bool> open(c_.graph.nodes.size(), false);  // folded and not seen yet
    for (const NodeId node : from_.schedule.once) open[at(node)] = true;
    std::vector<Constant> constants;
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(all_.order.size()); ++p) {
      for (const ValueId input : node_inputs(c_.graph.node(all_.order[at(p)]))) {
        const NodeId producer = c_.graph.value(input).producer;
        if (producer == kNone || !open[at(producer)]) continue;
        open[at(producer)] = false;
        const StorageId storage = c_.facts.values[at(input)].storage;
        if (storage != kNone)
          constants.push_back({c_.facts.storages[at(storage)].size, p, producer});
      }
    }
    std::stable_sort(constants.begin(), constants.end(),
                     [](const Constant& a, const Constant& b) { return a.bytes > b.bytes; });
    return constants;
  }

  Schedule unfolded(const std::vector<Constant>& targets, const std::vector<Constant>& all) const {
    std::vector<bool> kept(c_.graph.nodes.size(), false),
        folded = kept;  // kept: read anyway, need not be made again
    for (const NodeId node : from_.schedule.once) folded[at(node)] = true;
    for (const Constant& constant : all) kept[at(constant.node)] = true;
    for (const Constant& target : targets) kept[at(target.node)] = false;
    std::vector<Insertion> insertions;
    for (const Constant& target : targets) {
      std::set<NodeId> again = {target.node};  // ascending: graph order
      std::vector<NodeId> open = {target.node};
      while (!open.empty()) {
        const NodeId node = open.back();
        open.pop_back();
        for (const ValueId input : node_inputs(c_.graph.node(node))) {
          const NodeId producer = c_.graph.value(input).producer;
          if (producer == kNone || !folded[at(producer)] || kept[at(producer)]) continue;
          if (again.insert(producer).second) open.push_back(producer);
        }
      }
      insertions.push_back({target.first, {again.begin(), again.end()}, 0, 0, 0});
    }
    Schedule schedule = insert(std::move(insertions));
    schedule.once = still_folded(schedule);
    return schedule;
  }

  // The folded nodes that the body still reads, and what they depend on.
  std::vector<NodeId> still_folded(const Schedule& schedule) const {
    std::vector<bool> made(c_.graph.nodes.size(), false), needed(c_.graph.nodes.size(), false);
    const auto need = [&](ValueId value) {
      const NodeId producer = c_.graph.value(value).producer;
      if (producer != kNone && !made[at(producer)]) needed[at(producer)] = true;
    };
    for (const NodeId node : flat_order(schedule)) {
      for (const ValueId input : node_inputs(c_.graph.node(node))) need(input);
      made[at(node)] = true;
    }
    for (const Output& output : c_.graph.outputs)
      for_each_ref(output.value, [&](const Ref& ref) { need(ref.id); });
    std::fill(made.begin(), made.end(), false);
    std::vector<NodeId> once;
    for (std::size_t k = from_.schedule.once.size(); k-- > 0;) {
      const NodeId node = from_.schedule.once[k];
      if (!needed[at(node)]) continue;
      for (const ValueId input : node_inputs(c_.graph.node(node))) need(input);
      once.push_back(node);
    }
    std::reverse(once.begin(), once.end());
    return once;
  }

  const MoveContext& c_;
  const Candidate& from_;
  const Instances all_;
  std::vector<std::int32_t> above_;  // above_[p]: steps above the target before p
  std::int32_t peak_ = kNone;
  Bytes over_ = 0;  // above the target at the peak
};

}  // namespace

std::vector<Schedule> propose_recompute(const MoveContext& context, const Candidate& from) {
  return Recompute(context, from).run();
}

}  // namespace lowwater
