// Offsets for buffers with lifetimes: dynamic storage allocation.
//
//   space ^   +-----+
//         |   |  b  +---+         lower bound = max over time of live bytes
//         | +-+-----+ c |
//         | |   a   |   |
//         +-+-------+---+--> time (ticks)
//
// A portfolio of greedy orders first; if the best is above the lower bound, a
// bounded exact search. See docs/packing.md for the algorithms and sources.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace lowwater {

// Live in the half-open interval [begin, end).
struct PackItem {
  std::int64_t begin = 0, end = 0;
  Bytes size = 0;
  friend bool operator==(const PackItem&, const PackItem&) = default;
};

struct PackOptions {
  Bytes alignment = 1;                // a power of two; every offset is a multiple of it
  double time_limit_ms = 300;         // of the exact search; 0: greedy only
  std::int64_t node_limit = 100'000;  // likewise; makes results independent of the machine's speed
  Bytes good_enough = 0;              // stop once the height is at most this
};

struct Packing {
  std::vector<Bytes> offsets;  // parallel to the items
  Bytes height = 0;            // max of offset + size, sizes rounded up to the alignment
  Bytes lower_bound = 0;       // max over time of the aligned bytes of live items
  std::string method;          // which packer won: "greedy-size", "exact"
  bool optimal = false;        // height proven minimal (equals the bound, or search exhausted)
};

// Deterministic for equal options unless the time limit strikes first.
Packing pack(std::span<const PackItem> items, const PackOptions& options = {});

Bytes lower_bound(std::span<const PackItem> items, Bytes alignment = 1);

// MiniMalloc's CSV: a header with the columns id, lower (or start), upper (or
// end), size, in any order; further columns are ignored. `upper` is exclusive;
// "end" inclusive. Throws Error(bad_input) with the line.
std::vector<PackItem> read_pack_csv(std::string_view csv);

}  // namespace lowwater
