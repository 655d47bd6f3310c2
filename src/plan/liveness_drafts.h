// Private to liveness*.cc: a schedule as drafts of the steps that lowering would
// make, with only what decides how long each buffer lives.
#pragma once

#include <vector>

#include "plan/liveness_shape.h"
#include "plan/program.h"

namespace lowwater {

// What is left of a Buffer.
struct Place {
  Space space = Space::arena;
  Bytes size = 0;
  bool temporary = false;
  bool taken = false;      // another buffer took its address
  std::int32_t last = -1;  // the last draft that touches it
};

// A launch (`node`) or a copy (`copy_to`), and what it keeps alive.
struct FlatDraft {
  std::int32_t position = -1;  // in flat_order
  NodeId node = kNone;
  BufferId copy_to = kNone;
  BufferId first_alloc = 0;  // allocation i of the node is buffer first_alloc + i
  std::int32_t touch_begin = 0, touch_end = 0;  // in FlatDrafts::touches
  bool shares = false;                          // its shared_alloc takes an operand's address
};

struct FlatDrafts {
  std::vector<Place> places;                  // by BufferId
  std::vector<std::vector<BufferId>> takers;  // by BufferId: whose address it may take
  std::vector<BufferId> touches;
  std::vector<FlatDraft> once, body;
  BufferId once_buffers = 0;  // buffers below belong to `once`
  double ms = 0;              // of the body
};

// In liveness_drafts.cc. `order`: flat_order of the schedule.
FlatDrafts draft_schedule(const LivenessModel::Shape& shape, const Schedule& schedule,
                          const std::vector<NodeId>& order);

}  // namespace lowwater
