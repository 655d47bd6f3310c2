// Bounded exact search: is there a packing of at most a given height?
//
// Branch and bound in the manner of MiniMalloc: items are placed from the
// bottom up, each as low as what lies below allows, so that only one of the
// many equivalent packings is looked at. See docs/packing.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "plan/packing_part.h"

namespace lowwater {

// Each may be switched off without changing any answer, only the effort.
struct ExactSwitches {
  bool canonical = true;  // place in ascending (offset, rank)
  bool dominance = true;  // never above the room that a waiting item would fit in
  bool inference = true;  // what waits in a section must still fit above its floor
  bool hatless = true;    // an item with nothing above it has no better place
  bool decompose = true;  // groups that no longer meet in time are solved on their own
  // 0..1: waste little at the bottom, where it is cheap to turn back, by allowing
  // only a part of the slack there. Above 0 the search is no longer exact:
  // `exhausted` then proves nothing.
  double thrift = 0;
};

enum class SearchEnd : std::uint8_t { found, exhausted, limit };

struct ExactResult {
  SearchEnd end = SearchEnd::limit;
  Placement placement;  // end == found
  std::int64_t nodes = 0;
};

using Deadline = std::chrono::steady_clock::time_point;

// `order` breaks ties between items that could lie equally low; it must hold
// every item once. `exhausted` proves that `target` cannot be met.
ExactResult search_height(const PackPart& part, Bytes target, std::span<const std::int32_t> order,
                          std::int64_t node_limit, Deadline deadline,
                          const ExactSwitches& switches = {});

}  // namespace lowwater
