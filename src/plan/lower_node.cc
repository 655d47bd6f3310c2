// One node instance -> one draft launch, or views.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lowwater/error.h"
#include "plan/lower_internal.h"

namespace lowwater {
namespace {

const StepRecord& record_of(Lowering& l, NodeId id) {
  const StepRecord* known = l.facts.nodes[static_cast<std::size_t>(id)];
  return known != nullptr ? *known : l.costs.record(l.facts.specs[static_cast<std::size_t>(id)]);
}

// A node's argument with the latest instances in place of values. An absent
// optional tensor becomes None.
Arg bind_arg(Lowering& l, const Arg& arg) {
  Arg bound = arg;
  for_each_ref(bound, [&](Ref& ref) { ref.id = value_slot(l, ref.id); });
  const auto* ref = std::get_if<Ref>(&bound);
  if (ref != nullptr && ref->id == kNone) bound = std::monostate{};
  return bound;
}

// By number in spec.tensors: the slot that the instance reads.
std::vector<SlotId> operand_slots(Lowering& l, const Node& node) {
  std::vector<SlotId> slots;
  for (const ValueId value : tensor_operands(l.graph, node, l.facts.values))
    slots.push_back(value_slot(l, value));
  return slots;
}

struct Instance {
  NodeId id;
  const Node& node;
  const StepRecord& record;
  std::vector<SlotId> operands;  // by number in spec.tensors
  Launch launch;
};

bool visible(const Instance& call, std::size_t output) {
  return output < call.node.outputs.size() && call.node.outputs[output] != kNone;
}

// Nothing runs: every output is a view of an operand's buffer.
bool is_view(Lowering& l, const Instance& call) {
  const Node& node = call.node;
  if (node.barrier || node.guard != kNone || is_scalar_op(node.op)) return false;
  if (!call.record.events.empty() || l.facts.specs[static_cast<std::size_t>(call.id)].worst_case)
    return false;
  if (has_bits(node.op)) return false;
  for (const SlotId operand : call.operands) {
    if (operand != kNone && l.slot(operand).dynamic) return false;
  }
  bool any = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!visible(call, i) || call.record.outputs[i].home == OutputHome::absent) continue;
    if (call.record.outputs[i].home != OutputHome::alias ||
        l.graph.value(node.outputs[i]).type.dynamic)
      return false;
    any = true;
  }
  return any;
}

// Turns the recorded events into buffers and the script. An allocation that an
// output lives in is a value; every other one is a temporary.
std::vector<BufferId> make_script(Lowering& l, Instance& call) {
  std::vector<bool> keeps;
  std::vector<BufferId> buffers;
  for (const StepOutput& output : call.record.outputs) {
    if (output.home != OutputHome::fresh) continue;
    const auto source = static_cast<std::size_t>(output.source);
    if (keeps.size() <= source) keeps.resize(source + 1, false);
    keeps[source] = true;
  }
  for (const AllocEvent& event : call.record.events) {
    const auto id = static_cast<std::size_t>(event.id);
    if (event.is_alloc) {
      const bool value = id < keeps.size() && keeps[id];
      if (buffers.size() <= id) buffers.resize(id + 1, kNone);
      buffers[id] = l.add_buffer({.kind = value ? BufferKind::value : BufferKind::temporary,
                                  .size = event.size,
                                  .node = call.id});
    } else if (id >= buffers.size()) {
      throw Error(ErrorKind::internal, "its record frees what it did not allocate",
                  l.graph.where(call.id));
    }
    call.launch.script.push_back({event.is_alloc, buffers[id], event.size});
  }
  return buffers;
}

// The slot of output `i`; kNone if it is absent or nobody sees it.
SlotId make_output(Lowering& l, const Instance& call, const std::vector<BufferId>& allocated,
                   std::size_t i) {
  if (!visible(call, i)) return kNone;
  const ValueId value = call.node.outputs[i];
  const Type& type = l.graph.value(value).type;
  if (type.kind != TypeKind::tensor)
    return l.add_slot({.kind = type.kind, .meta = {}, .loop_strides = {}, .value = value});
  if (i >= call.record.outputs.size())
    throw Error(ErrorKind::internal, "its record lacks an output", l.graph.where(call.id));
  const StepOutput& output = call.record.outputs[i];
  const auto source = static_cast<std::size_t>(output.source);
  if (output.home == OutputHome::fresh) {
    BufferId home = source < allocated.size() ? allocated[source] : kNone;
    if (home == kNone)
      home = l.add_buffer({.node = call.id});  // no elements: nothing was allocated
    return l.add_view(home, output.meta, value, type.dynamic);
  }
  if (output.home == OutputHome::alias) {
    const SlotId base = source < call.operands.size() ? call.operands[source] : kNone;
    if (base == kNone)
      throw Error(ErrorKind::internal, "its record aliases an operand that is absent",
                  l.graph.where(call.id));
    const bool bits = has_bits(call.node.op);
    // The record's offset is relative to a normalised storage, the facts' is not.
    const TensorMeta& meta = l.facts.values[static_cast<std::size_t>(value)].meta;
    return l.add_view(l.buffer_of(base), meta, value, type.dynamic || bits || l.slot(base).dynamic);
  }
  return kNone;
}

std::vector<BufferId> touched_buffers(Lowering& l, const Launch& launch) {
  std::vector<BufferId> touches;
  const auto touch = [&](BufferId id) {
    if (id != kNone && std::find(touches.begin(), touches.end(), id) == touches.end())
      touches.push_back(id);
  };
  for (const Arg& arg : launch.args)
    for_each_ref(arg, [&](const Ref& ref) { touch(l.buffer_of(ref.id)); });
  touch(l.buffer_of(launch.guard));
  for (const SlotId output : launch.outputs) touch(l.buffer_of(output));
  for (const ScriptEvent& event : launch.script) {
    if (l.buffer(event.buffer).kind != BufferKind::temporary)
      touch(event.buffer);  // also outputs nobody sees
  }
  return touches;
}

void check_nothing_missing(Lowering& l, const Instance& call) {
  if (call.record.outputs.size() < call.node.outputs.size() && !is_scalar_op(call.node.op)) {
    throw Error(ErrorKind::internal,
                fmt::format("its record has {} outputs, the operator {}",
                            call.record.outputs.size(), call.node.outputs.size()),
                l.graph.where(call.id));
  }
}

}  // namespace

bool has_bits(std::string_view op) {
  static constexpr std::array<std::string_view, 3> kBitViews = {"aten::_conj", "aten::conj",
                                                                "aten::_neg_view"};
  return std::find(kBitViews.begin(), kBitViews.end(), op) != kBitViews.end();
}

void lower_node(Lowering& l, NodeId id, std::vector<Draft>& drafts) {
  static const StepRecord kNoRecord;
  const Node& node = l.graph.node(id);
  Instance call{id, node, is_scalar_op(node.op) ? kNoRecord : record_of(l, id), {}, {}};
  check_nothing_missing(l, call);
  Launch& launch = call.launch;
  launch.args.reserve(node.args.size());
  for (const Arg& arg : node.args) launch.args.push_back(bind_arg(l, arg));
  if (!is_scalar_op(node.op)) call.operands = operand_slots(l, node);

  const bool view = is_view(l, call);
  const std::vector<BufferId> allocated = make_script(l, call);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const SlotId slot = make_output(l, call, allocated, i);
    launch.outputs.push_back(slot);
    if (node.outputs[i] != kNone) l.current[static_cast<std::size_t>(node.outputs[i])] = slot;
  }
  if (view) return;

  launch.node = id;
  launch.op = node.op;
  launch.ms = call.record.ms;
  if (!is_scalar_op(node.op)) launch.variant = l.facts.specs[static_cast<std::size_t>(id)].variant;
  if (node.guard != kNone) launch.guard = value_slot(l, node.guard);
  launch.guard_when = node.guard_when;
  std::vector<BufferId> touches = touched_buffers(l, launch);
  drafts.push_back({std::move(launch), std::move(touches)});
}

}  // namespace lowwater
