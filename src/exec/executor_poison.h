// --poison: free arena bytes hold 0xFF (NaN in every floating type), so that a
// read of bytes that nobody wrote shows in the result, and a write outside of
// the blocks in use is found after the step that did it.
//
//   | block a |FF FF FF| block b |FF FF FF FF ...
//               ^ red zones: looked at after every step
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "exec/slab.h"
#include "plan/program.h"

namespace lowwater {

class Poison {
 public:
  // `program` and `arena` must outlive the object. Fills the whole arena.
  Poison(const Program& program, Slab& arena);

  // The buffer holds data from now on; until it is released, if it is a value.
  void granted(BufferId buffer);
  void released(BufferId buffer);
  // Call after the step that used `temporaries`: fills them, then throws
  // Error(internal) if bytes next to a block in use were overwritten.
  void check_step(const std::vector<BufferId>& temporaries, const std::string& step);
  void start_over();

 private:
  struct Range {
    Bytes begin = 0, end = 0;
  };
  [[nodiscard]] Range range(BufferId buffer) const;
  // The parts of `range` that no live buffer holds.
  [[nodiscard]] std::vector<Range> free_parts(Range range) const;
  void fill(Range range);

  const Program& program_;
  Bytes size_;
  at::Tensor bytes_;
  std::vector<bool> live_;  // by BufferId
};

}  // namespace lowwater
