// The packer's view of a problem: independent parts in units of the alignment,
// time cut into sections.
//
//   items   |--a--|     |--d--|        a section is a maximal set of items live
//           |---b----|                 at once: {a,b} {b,c} {d}. Nothing lives in
//                 |-c-| |--d--|        both c and d, so {a,b,c} and {d} are two
//   section |  0  | 1 | |  2  |        parts, packed independently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/packing.h"

namespace lowwater {

struct PackPart {
  std::vector<std::int32_t> ids;          // positions in the caller's list
  std::vector<Bytes> size;                // in units of the alignment, rounded up
  std::vector<std::int32_t> first, last;  // sections [first, last) of each item
  std::vector<std::int64_t> duration;     // in the caller's ticks
  std::vector<Bytes> section_total;       // units live in each section
  Bytes bound = 0;                        // max of section_total
  // Items that are live together with item i: neighbours[begin[i] .. begin[i+1]).
  std::vector<std::int64_t> neighbour_begin;
  std::vector<std::int32_t> neighbours;

  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(ids.size()); }
  [[nodiscard]] std::int32_t sections() const {
    return static_cast<std::int32_t>(section_total.size());
  }
  // Empty if there are so many pairs that a list of them would not fit (`sparse` false).
  bool sparse = true;

  // Calls `visit(j)` for every item that must not overlap item i.
  template <typename Visit>
  void for_each_neighbour(std::int32_t i, Visit&& visit) const {
    const auto at = static_cast<std::size_t>(i);
    if (sparse) {
      for (std::int64_t k = neighbour_begin[at]; k < neighbour_begin[at + 1]; ++k)
        visit(neighbours[static_cast<std::size_t>(k)]);
      return;
    }
    for (std::int32_t j = 0; j < count(); ++j) {
      const auto other = static_cast<std::size_t>(j);
      if (j != i && first[at] < last[other] && first[other] < last[at]) visit(j);
    }
  }
};

// Items of no bytes or no time conflict with nobody and are in no part.
std::vector<PackPart> split_into_parts(std::span<const PackItem> items, Bytes alignment);

// xorshift with a fixed seed: the same numbers on every machine and library.
class PackRandom {
 public:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)

 private:
  std::uint64_t next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_;
  }
  std::uint64_t state_ = 0x9e3779b97f4a7c15ULL;
};

// Offsets by item of a part, in units; height is the max of offset + size.
struct Placement {
  std::vector<Bytes> offsets;
  Bytes height = 0;
};

}  // namespace lowwater
