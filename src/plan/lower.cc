#include "plan/lower.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lowwater/error.h"
#include "plan/lower_internal.h"

namespace lowwater {
namespace {

void lower_items(Lowering& lowering, const std::vector<ScheduleItem>& items) {
  for (const ScheduleItem& item : items) {
    const auto* stage = std::get_if<Stage>(&item.item);
    if (stage == nullptr) throw Error(ErrorKind::internal, "no region rule", "lowering of a loop");
    for (const NodeId node : stage->nodes) lower_node(lowering, node, lowering.steps);
  }
}

// What the body reads of `once` outlives it: it goes to the constant space.
void keep_constants(Lowering& lowering) {
  for (const Draft& draft : lowering.steps) {
    for (const BufferId id : draft.touches) {
      if (static_cast<std::size_t>(id) >= lowering.once_buffers) continue;
      Buffer& buffer = lowering.buffer(id);
      if (buffer.space == Space::arena) buffer.space = Space::constant;
    }
  }
}

}  // namespace

BufferId Lowering::add_buffer(Buffer buffer) {
  program.buffers.push_back(buffer);
  return static_cast<BufferId>(program.buffers.size()) - 1;
}

SlotId Lowering::add_slot(Slot slot) {
  program.slots.push_back(std::move(slot));
  return static_cast<SlotId>(program.slots.size()) - 1;
}

SlotId Lowering::add_view(BufferId id, TensorMeta meta, ValueId value, bool dynamic) {
  meta.storage_bytes = buffer(id).size;
  Buffer& home = buffer(id);
  if (home.value == kNone) home.value = value;
  return add_slot({.buffer = id,
                   .meta = std::move(meta),
                   .loop_strides = {},
                   .dynamic = dynamic,
                   .value = value});
}

std::vector<std::int32_t> last_touches(const std::vector<Draft>& drafts, std::size_t buffers) {
  std::vector<std::int32_t> last(buffers, -1);
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    for (const BufferId id : drafts[i].touches)
      last[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
  }
  return last;
}

Program lower(const Graph& graph, const WeightTable& weights, const Schedule& schedule,
              const Facts& facts, CostProvider& costs, const LowerOptions& options) {
  Lowering lowering{graph, weights, facts, costs, options};
  lowering.program.alignment = costs.alignment();
  lowering.program.inputs.assign(graph.inputs.size(), kNone);
  lowering.program.outputs.assign(graph.outputs.size(), kNone);
  lowering.current.assign(graph.values.size(), Lowering::kUnmade);
  lowering.weight_buffers.assign(weights.storages.size(), kNone);
  lowering.weight_slots.assign(weights.weights.size(), kNone);

  for (const NodeId node : schedule.once) lower_node(lowering, node, lowering.once);
  const auto read = [](SlotId input) { return input != kNone; };
  if (std::any_of(lowering.program.inputs.begin(), lowering.program.inputs.end(), read)) {
    throw Error(ErrorKind::internal, "a step that runs once per session reads an input");
  }
  lowering.once_buffers = lowering.program.buffers.size();
  lower_items(lowering, schedule.body);
  lower_outputs(lowering);
  lowering.steps.insert(lowering.steps.begin(), std::make_move_iterator(lowering.uploads.begin()),
                        std::make_move_iterator(lowering.uploads.end()));

  keep_constants(lowering);
  lowering.shared_by.assign(lowering.program.buffers.size(), kNone);
  if (options.share_addresses) {
    share_addresses(lowering, lowering.once);
    share_addresses(lowering, lowering.steps);
  }
  std::vector<Step> once = emit(lowering, std::move(lowering.once));
  std::vector<Step> steps = emit(lowering, std::move(lowering.steps));
  lowering.program.once = std::move(once);
  lowering.program.steps = std::move(steps);
  lowering.program.events = lowering.next_event;
  return std::move(lowering.program);
}

}  // namespace lowwater
