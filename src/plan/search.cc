// The driver: starts, a falling target, moves that are accepted if they lower the excess.
#include "plan/search.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace lowwater {
namespace {

// A new target is this share of the peak; where no move gets there, one byte less.
constexpr double kLadder = 0.9;
// Node instances that one search may score; makes results independent of the clock.
constexpr std::int64_t kWork = 600'000;

Bytes excess_of(const Liveness& live, Bytes target) {
  Bytes excess = 0;
  for (const Bytes bytes : live.at_step)
    excess += std::max<Bytes>(0, bytes + live.fixed() - target);
  // `once` may be what peaks, and counts as one step.
  return excess + std::max<Bytes>(0, live.total() - target);
}

class Driver {
 public:
  Driver(MoveContext context, const SearchOptions& options)
      : context_(context),
        options_(options),
        evaluations_(std::clamp<std::int64_t>(
            kWork / std::max<std::int64_t>(1, std::ssize(context.graph.nodes)), 100, 2000)),
        deadline_(
            std::chrono::steady_clock::now() +
            std::chrono::microseconds(static_cast<std::int64_t>(options.time_limit_ms * 1000))) {}

  void start(Schedule schedule, const std::string& name) {
    Candidate current = evaluate(std::move(schedule), {name});
    keep(current);
    bool small_step = false;
    while (!stop()) {
      const Bytes target = small_step
                               ? current.peak - 1
                               : static_cast<Bytes>(static_cast<double>(current.peak) * kLadder);
      Candidate next = descend(current, target);
      if (next.peak < current.peak) {
        small_step = false;
      } else if (small_step) {
        break;  // not even one byte less
      } else {
        small_step = true;
        continue;
      }
      current = std::move(next);
    }
  }

  std::vector<Candidate> frontier() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const Candidate& a, const Candidate& b) {
      return a.ms != b.ms ? a.ms < b.ms : a.peak < b.peak;
    });
    std::vector<Candidate> result;
    for (Candidate& candidate : kept_) {
      const bool slow = options_.max_slowdown > 0 && !result.empty() &&
                        candidate.ms > options_.max_slowdown * result.front().ms;
      if (!slow && (result.empty() || candidate.peak < result.back().peak))
        result.push_back(std::move(candidate));
    }
    return result;
  }

 private:
  bool stop() const {
    return evaluations_ <= 0 || std::chrono::steady_clock::now() > deadline_ ||
           (options_.interrupted && options_.interrupted());
  }

  Candidate evaluate(Schedule schedule, std::vector<std::string> moves) {
    --evaluations_;
    const Liveness live = context_.model.run(schedule);
    return {std::move(schedule), live.total(), excess_of(live, context_.target), live.ms,
            std::move(moves)};
  }

  // Applies moves until the target is met or none of them lowers the excess.
  Candidate descend(Candidate current, Bytes target) {
    context_.target = target;
    current.excess = excess_of(context_.model.run(current.schedule), target);
    while (current.excess > 0 && !stop()) {
      std::optional<Candidate> better;
      for (const Move& move : move_table()) {
        if (options_.disabled.contains(std::string(move.name))) continue;
        better = improve(move, current);
        if (better) break;
      }
      if (!better) break;
      current = std::move(*better);
      keep(current);
    }
    return current;
  }

  // The first proposal that lowers the excess.
  std::optional<Candidate> improve(const Move& move, const Candidate& from) {
    for (Schedule& schedule : move.propose(context_, from)) {
      if (stop()) break;
      std::vector<std::string> moves = from.moves;
      if (moves.back() != move.name) moves.emplace_back(move.name);
      Candidate next = evaluate(std::move(schedule), std::move(moves));
      if (next.excess < from.excess) return next;
    }
    return std::nullopt;
  }

  void keep(const Candidate& candidate) {
    for (const Candidate& other : kept_)
      if (other.peak <= candidate.peak && other.ms <= candidate.ms) return;
    std::erase_if(kept_, [&](const Candidate& other) {
      return candidate.peak <= other.peak && candidate.ms <= other.ms;
    });
    kept_.push_back(candidate);
  }

  MoveContext context_;
  const SearchOptions& options_;
  std::int64_t evaluations_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<Candidate> kept_;  // non-dominated
};

}  // namespace

std::vector<bool> random_nodes(const Graph& graph, const SchemaTable& schemas) {
  std::vector<bool> random(graph.nodes.size(), false);
  for (std::size_t i = 0; i < random.size(); ++i) {
    if (is_scalar_op(graph.nodes[i].op)) continue;
    const Schema* schema = schemas.find(graph.nodes[i].op);
    random[i] = schema == nullptr || schema->random;
  }
  return random;
}

std::vector<Candidate> search(const Graph& graph, const WeightTable& weights, const Facts& facts,
                              const std::vector<bool>& constant, CostProvider& costs,
                              const LowerOptions& lower, const SearchOptions& options) {
  const LivenessModel model(graph, weights, facts, costs, lower);
  std::vector<bool> random = options.random;
  random.resize(graph.nodes.size(), false);
  Driver driver({graph, weights, facts, costs, lower, model, random}, options);
  driver.start(whole_schedule(graph, constant), "whole");
  // Folded constants cost memory all the time; without them the peak may be lower.
  const Schedule unfolded = whole_schedule(graph, std::vector<bool>(graph.nodes.size(), false));
  if (unfolded != whole_schedule(graph, constant)) driver.start(unfolded, "unfolded");
  return driver.frontier();
}

}  // namespace lowwater
