// Private to lower*.cc: the state of one lowering.
//
//   1. bind     each node instance becomes a draft step; buffers and slots appear   lower_node.cc
//   2. outputs  results go to the caller, mutations to their targets                lower_io.cc
//   3. share    buffers that may take their operand's address                       lower_share.cc
//   4. emit     releases and ticks                                                  lower_emit.cc
#pragma once

#include <string_view>
#include <vector>

#include "plan/lower.h"

namespace lowwater {

// A step without its releases, and the buffers that it needs. A buffer is
// released after the last draft that touches it.
struct Draft {
  Step step;
  std::vector<BufferId> touches;
};

struct Lowering {
  // `current[v]` of a value that has no instance yet; kNone is an absent tensor.
  static constexpr SlotId kUnmade = -2;

  const Graph& graph;
  const WeightTable& weights;
  const Facts& facts;
  CostProvider& costs;
  const LowerOptions& options;

  Program program;
  std::vector<SlotId> current;           // by ValueId: its latest instance
  std::vector<BufferId> weight_buffers;  // by StorageIndex
  std::vector<SlotId> weight_slots;      // by WeightId
  std::vector<Draft> once, uploads, steps;
  std::vector<BufferId> shared_by;  // by BufferId: who took its address
  std::size_t once_buffers = 0;     // buffers below this id belong to `once`
  EventId next_event = 0;

  Buffer& buffer(BufferId id) { return program.buffers[static_cast<std::size_t>(id)]; }
  Slot& slot(SlotId id) { return program.slots[static_cast<std::size_t>(id)]; }
  // kNone for scalars and absent tensors.
  BufferId buffer_of(SlotId id) { return id < 0 ? kNone : slot(id).buffer; }

  BufferId add_buffer(Buffer buffer);
  SlotId add_slot(Slot slot);
  // A tensor slot in `buffer`; fills meta.storage_bytes.
  SlotId add_view(BufferId buffer, TensorMeta meta, ValueId value, bool dynamic = false);
};

inline constexpr std::int32_t kCompute = 0, kUpload = 1, kDownload = 2;

// Appends what runs `node` to `drafts`: a launch, or nothing if its outputs are
// only views.
void lower_node(Lowering& lowering, NodeId node, std::vector<Draft>& drafts);

// The operator's outputs are views that mean more than sizes and strides (a
// conjugate or negative bit): readers need the very tensor that it returned.
bool has_bits(std::string_view op);

// The slot to read `value` from; makes those of inputs and weights on demand.
SlotId value_slot(Lowering& lowering, ValueId value);
void lower_outputs(Lowering& lowering);

// By BufferId: the index of the last draft that touches it, -1 if none does.
std::vector<std::int32_t> last_touches(const std::vector<Draft>& drafts, std::size_t buffers);
void share_addresses(Lowering& lowering, const std::vector<Draft>& drafts);

// The final steps of one time line, in order.
std::vector<Step> emit(Lowering& lowering, std::vector<Draft> drafts);

}  // namespace lowwater
