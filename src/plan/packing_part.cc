#include "plan/packing_part.h"

#include <algorithm>

namespace lowwater {
namespace {

// More pairs than this (4 bytes each) are enumerated on demand instead of listed.
constexpr std::int64_t kMaxPairs = 64'000'000;

struct Edge {
  std::int64_t time = 0;
  bool begins = false;  // ends sort before begins: intervals are half open
  std::int32_t item = 0;
};

std::vector<Edge> edges_of(std::span<const PackItem> items) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].size <= 0 || items[i].begin >= items[i].end) continue;
    edges.push_back({items[i].begin, true, static_cast<std::int32_t>(i)});
    edges.push_back({items[i].end, false, static_cast<std::int32_t>(i)});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.begins != b.begins) return !a.begins;
    return a.item < b.item;
  });
  return edges;
}

void add_neighbours(PackPart& part) {
  const auto n = static_cast<std::size_t>(part.count());
  // Items come ordered by first section, so the later partners of i are one run.
  const auto run_end = [&](std::size_t i) {
    return static_cast<std::size_t>(
        std::lower_bound(part.first.begin() + static_cast<std::ptrdiff_t>(i), part.first.end(),
                         part.last[i]) -
        part.first.begin());
  };
  std::vector<std::int64_t> degree(n + 1, 0);
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i < n; ++i) pairs += static_cast<std::int64_t>(run_end(i) - i - 1);
  part.sparse = 2 * pairs <= kMaxPairs;
  if (!part.sparse) return;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < run_end(i); ++j) ++degree[i], ++degree[j];
  }
  part.neighbour_begin.assign(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i)
    part.neighbour_begin[i + 1] = part.neighbour_begin[i] + degree[i];
  part.neighbours.resize(static_cast<std::size_t>(2 * pairs));
  std::vector<std::int64_t> next(part.neighbour_begin.begin(), part.neighbour_begin.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < run_end(i); ++j) {
      part.neighbours[static_cast<std::size_t>(next[i]++)] = static_cast<std::int32_t>(j);
      part.neighbours[static_cast<std::size_t>(next[j]++)] = static_cast<std::int32_t>(i);
    }
  }
}

}  // namespace

std::vector<PackPart> split_into_parts(std::span<const PackItem> items, Bytes alignment) {
  std::vector<PackPart> parts;
  std::vector<std::int32_t> local(items.size(), -1);
  std::int64_t live = 0;
  Bytes live_units = 0;
  bool grew = false;  // a begin since the last section was closed
  for (const Edge& edge : edges_of(items)) {
    const PackItem& item = items[static_cast<std::size_t>(edge.item)];
    const Bytes units = align_up(item.size, alignment) / alignment;
    if (edge.begins) {
      if (live == 0) parts.emplace_back();
      PackPart& part = parts.back();
      local[static_cast<std::size_t>(edge.item)] = part.count();
      part.ids.push_back(edge.item);
      part.size.push_back(units);
      part.first.push_back(part.sections());
      part.last.push_back(0);
      part.duration.push_back(item.end - item.begin);
      ++live, live_units += units, grew = true;
      continue;
    }
    PackPart& part = parts.back();
    if (grew) part.section_total.push_back(live_units), grew = false;
    part.last[static_cast<std::size_t>(local[static_cast<std::size_t>(edge.item)])] =
        part.sections();
    --live, live_units -= units;
  }
  for (PackPart& part : parts) {
    part.bound = *std::max_element(part.section_total.begin(), part.section_total.end());
    add_neighbours(part);
  }
  return parts;
}

}  // namespace lowwater
