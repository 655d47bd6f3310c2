// Which buffers take the address of an operand that dies at their writer.
#include <algorithm>

#include "analysis/views.h"
#include "ops/op_table.h"
#include "plan/lower_internal.h"

namespace lowwater {
namespace {

bool same_view(const Slot& a, const Slot& b) { return a.buffer == b.buffer && a.meta == b.meta; }

// The slot is its whole buffer, without gaps.
bool fills_buffer(Lowering& l, const Slot& slot) {
  return slot.kind == TypeKind::tensor && !slot.dynamic && slot.meta.storage_offset == 0 &&
         is_dense(slot.meta) && slot.meta.extent_bytes() == l.buffer(slot.buffer).size;
}

// Nothing else in the launch looks at the operand's bytes, except the same view
// at another place that allows sharing (add(x, x)).
bool read_only_so(Lowering& l, const Launch& launch, SlotId operand, std::uint32_t mask) {
  const Slot& wanted = l.slot(operand);
  bool alone = launch.guard == kNone;
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    const bool direct =
        std::holds_alternative<Ref>(launch.args[i]) && i < 32 && ((mask >> i) & 1U) != 0;
    for_each_ref(launch.args[i], [&](const Ref& ref) {
      if (l.buffer_of(ref.id) == wanted.buffer && !(direct && same_view(l.slot(ref.id), wanted)))
        alone = false;
    });
  }
  return alone;
}

// One output lives in the buffer, and it is the first of the launch.
bool only_first_output(Lowering& l, const Launch& launch, BufferId buffer) {
  for (std::size_t i = 1; i < launch.outputs.size(); ++i) {
    if (l.buffer_of(launch.outputs[i]) == buffer) return false;
  }
  return l.buffer_of(launch.outputs[0]) == buffer;
}

bool in_arena(const Buffer& buffer) {
  return buffer.space == Space::arena && buffer.kind == BufferKind::value && buffer.size > 0;
}

// The operand whose address output 0 of draft `index` may take; kNone if none.
BufferId shareable(Lowering& l, const Launch& launch, std::int32_t index,
                   const std::vector<std::int32_t>& last) {
  const OpRow* row = find_op(launch.op);
  if (row == nullptr || row->share_mask == 0 || launch.outputs.empty() ||
      launch.outputs[0] == kNone)
    return kNone;
  if (l.graph.node(launch.node).barrier) return kNone;
  const Slot& out = l.slot(launch.outputs[0]);
  if (out.buffer == kNone || !in_arena(l.buffer(out.buffer)) ||
      l.buffer(out.buffer).node != launch.node)
    return kNone;
  if (!fills_buffer(l, out) || !only_first_output(l, launch, out.buffer)) return kNone;
  for (std::size_t i = 0; i < launch.args.size() && i < 32; ++i) {
    const auto* ref = std::get_if<Ref>(&launch.args[i]);
    if (((row->share_mask >> i) & 1U) == 0 || ref == nullptr || ref->id < 0) continue;
    const Slot& operand = l.slot(ref->id);
    if (operand.buffer == kNone || operand.buffer == out.buffer ||
        !in_arena(l.buffer(operand.buffer)))
      continue;
    if (last[static_cast<std::size_t>(operand.buffer)] != index) continue;  // read again later
    if (!fills_buffer(l, operand) || l.buffer(operand.buffer).size != l.buffer(out.buffer).size)
      continue;
    if (operand.meta.dtype != out.meta.dtype || !same_layout(operand.meta, out.meta)) continue;
    if (read_only_so(l, launch, ref->id, row->share_mask)) return operand.buffer;
  }
  return kNone;
}

}  // namespace

void share_addresses(Lowering& l, const std::vector<Draft>& drafts) {
  const std::vector<std::int32_t> last = last_touches(drafts, l.program.buffers.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const auto* launch = std::get_if<Launch>(&drafts[i].step);
    if (launch == nullptr) continue;
    const BufferId operand = shareable(l, *launch, static_cast<std::int32_t>(i), last);
    if (operand == kNone) continue;
    const BufferId output = l.slot(launch->outputs[0]).buffer;
    l.buffer(output).shares = operand;
    l.shared_by[static_cast<std::size_t>(operand)] = output;
  }
}

}  // namespace lowwater
