#include "plan/packing_greedy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The most crowded section that each item lives in.
std::vector<double> pressure_of(const PackPart& part) {
  std::vector<double> pressure;
  for (std::int32_t i = 0; i < part.count(); ++i) {
    const auto from = part.section_total.begin() + part.first[at(i)];
    const auto to = part.section_total.begin() + part.last[at(i)];
    pressure.push_back(static_cast<double>(*std::max_element(from, to)));
  }
  return pressure;
}

std::vector<double> crowd_of(const PackPart& part) {
  std::vector<double> crowd(at(part.count()), 0);
  for (std::int32_t i = 0; i < part.count(); ++i)
    part.for_each_neighbour(
        i, [&](std::int32_t j) { crowd[at(i)] += static_cast<double>(part.size[at(j)]); });
  return crowd;
}

double key_of(const PackPart& part, std::int32_t i, OrderKey key) {
  const auto size = static_cast<double>(part.size[at(i)]);
  const auto duration = static_cast<double>(part.duration[at(i)]);
  switch (key) {
    case OrderKey::size:
      return size;
    case OrderKey::area:
      return size * duration;
    case OrderKey::duration:
      return duration;
    case OrderKey::begin:
      return -static_cast<double>(part.first[at(i)]);
    case OrderKey::weighted:
      return size * std::sqrt(duration);
    default:
      return 0;
  }
}

struct Span {
  Bytes begin = 0, end = 0;
};

// Lowest offset, or the one in the tightest gap, for `size` units among the
// spans that are taken. The space above the last span is the gap of last resort.
Bytes find_gap(std::vector<Span>& taken, Bytes size, FitRule rule) {
  std::sort(taken.begin(), taken.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  Bytes top = 0, best = -1, tightest = std::numeric_limits<Bytes>::max();
  for (const Span& span : taken) {
    const Bytes gap = span.begin - top;
    if (gap >= size && gap < tightest) {
      best = top, tightest = gap;
      if (rule == FitRule::first) return best;
    }
    top = std::max(top, span.end);
  }
  return best >= 0 ? best : top;
}

}  // namespace

std::vector<std::int32_t> order_by(const PackPart& part, OrderKey key) {
  std::vector<double> keys;
  if (key == OrderKey::crowd) keys = crowd_of(part);
  if (key == OrderKey::pressure) keys = pressure_of(part);
  if (keys.empty())
    for (std::int32_t i = 0; i < part.count(); ++i) keys.push_back(key_of(part, i, key));
  std::vector<std::int32_t> order(at(part.count()));
  std::iota(order.begin(), order.end(), 0);
  // Equal keys: the larger area first, which settles most ties of `pressure`.
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    if (keys[at(a)] != keys[at(b)]) return keys[at(a)] > keys[at(b)];
    return key_of(part, a, OrderKey::area) > key_of(part, b, OrderKey::area);
  });
  return order;
}

Placement place_in_order(const PackPart& part, std::span<const std::int32_t> order, FitRule rule) {
  Placement placement{std::vector<Bytes>(at(part.count()), -1), 0};
  std::vector<Span> taken;
  for (const std::int32_t i : order) {
    taken.clear();
    part.for_each_neighbour(i, [&](std::int32_t j) {
      const Bytes offset = placement.offsets[at(j)];
      if (offset >= 0) taken.push_back({offset, offset + part.size[at(j)]});
    });
    const Bytes offset = find_gap(taken, part.size[at(i)], rule);
    placement.offsets[at(i)] = offset;
    placement.height = std::max(placement.height, offset + part.size[at(i)]);
  }
  return placement;
}

Placement place_lowest(const PackPart& part, std::span<const std::int32_t> order) {
  Placement placement{std::vector<Bytes>(at(part.count()), -1), 0};
  std::vector<std::int32_t> rank(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) rank[at(order[k])] = static_cast<std::int32_t>(k);
  std::vector<Bytes> lowest(order.size(), 0);
  using Entry = std::pair<Bytes, std::int32_t>;  // (offset, rank); stale ones are skipped
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const std::int32_t i : order) queue.push({0, rank[at(i)]});
  while (!queue.empty()) {
    const auto [offset, position] = queue.top();
    queue.pop();
    const std::int32_t i = order[at(position)];
    if (placement.offsets[at(i)] >= 0 || offset != lowest[at(i)]) continue;
    placement.offsets[at(i)] = offset;
    const Bytes top = offset + part.size[at(i)];
    placement.height = std::max(placement.height, top);
    part.for_each_neighbour(i, [&](std::int32_t j) {
      if (placement.offsets[at(j)] >= 0 || lowest[at(j)] >= top) return;
      lowest[at(j)] = top;
      queue.push({top, rank[at(j)]});
    });
  }
  return placement;
}

GreedyResult greedy_portfolio(const PackPart& part, Bytes good_enough) {
  struct Row {
    OrderKey key;
    const char* name;
  };
  static constexpr Row kRows[] = {
      {OrderKey::size, "size"},         {OrderKey::area, "area"},
      {OrderKey::weighted, "weighted"}, {OrderKey::pressure, "pressure"},
      {OrderKey::crowd, "crowd"},       {OrderKey::duration, "duration"},
      {OrderKey::begin, "begin"},
  };
  GreedyResult best;
  best.placement.height = std::numeric_limits<Bytes>::max();
  const auto offer = [&](Placement placement, const std::vector<std::int32_t>& order,
                         std::string method) {
    if (placement.height >= best.placement.height) return;
    best = {std::move(placement), std::move(method), order};
  };
  for (const Row& row : kRows) {
    const std::vector<std::int32_t> order = order_by(part, row.key);
    const std::string name = row.name;
    offer(place_in_order(part, order, FitRule::first), order, "greedy-" + name);
    if (best.placement.height > good_enough)
      offer(place_in_order(part, order, FitRule::best), order, "greedy-" + name + "-best");
    if (best.placement.height > good_enough)
      offer(place_lowest(part, order), order, "lowest-" + name);
    if (best.placement.height <= good_enough) break;
  }
  return best;
}

}  // namespace lowwater
