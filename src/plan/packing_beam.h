// Beam search: many partial packings grow from the bottom up side by side, and
// of each generation only those that wasted least survive.
//
//         +--+           every section has a floor: where its next item can lie
//   +-----+  |  +----+   at best. What a floor leaves empty below is waste, and
//   |  a  |  |  |  b |   the target allows each section only so much of it:
//   |     |c +--+    |   target - (units live there).
//   +-----+--+  +----+
//          d  ^^ waste as soon as nothing that waits fits in there
#pragma once

#include <cstdint>
#include <optional>

#include "plan/packing_exact.h"
#include "plan/packing_part.h"

namespace lowwater {

struct BeamOptions {
  Bytes target = 0;          // only packings of at most this height
  Bytes aim = 0;             // what waste is weighed by: aim - units live in a section
  std::int32_t width = 100;  // survivors of a generation
  double power = 2;          // of waste in the score
  double ahead = 0;          // above 0: waste is forgiven the more, the more is placed
  int max_closed = 6;        // floors that one step may leave empty
  bool mirrored = false;     // time runs backwards: other ties
};

struct BeamResult {
  std::optional<Placement> placement;
  std::int64_t nodes = 0;  // partial packings looked at
};

// Deterministic unless the deadline strikes.
BeamResult beam_search(const PackPart& part, const BeamOptions& options, std::int64_t node_limit,
                       Deadline deadline);

}  // namespace lowwater
