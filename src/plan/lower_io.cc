// Where values come from and go to: inputs, weights, outputs, mutations.
#include <algorithm>
#include <map>
#include <utility>

#include "analysis/views.h"
#include "lowwater/error.h"
#include "plan/lower_internal.h"

namespace lowwater {
namespace {

TensorMeta type_meta(const Type& type) {
  return {type.dtype, type.sizes,
          type.strides.size() == type.sizes.size() ? type.strides : contiguous_strides(type.sizes),
          0, 0};
}

// The caller's tensor of flat input `position`: on the device, or in host memory.
SlotId caller_slot(Lowering& l, std::int32_t position) {
  SlotId& slot = l.program.inputs[static_cast<std::size_t>(position)];
  if (slot != kNone) return slot;
  const ValueId value = l.graph.inputs[static_cast<std::size_t>(position)].value;
  const Type& type = l.graph.value(value).type;
  if (type.kind != TypeKind::tensor) {
    return slot = l.add_slot({.kind = type.kind, .meta = {}, .loop_strides = {}, .value = value});
  }
  TensorMeta meta = type_meta(type);
  const Space space = l.options.io == IoPlace::host ? Space::host : Space::input;
  const BufferId buffer = l.add_buffer(
      {.space = space, .kind = BufferKind::input, .size = meta.extent_bytes(), .index = position});
  return slot = l.add_view(buffer, std::move(meta), value, type.dynamic);
}

// What the steps read: the caller's tensor, or its upload.
SlotId input_slot(Lowering& l, std::int32_t position) {
  const SlotId caller = caller_slot(l, position);
  if (l.options.io == IoPlace::device || l.slot(caller).kind != TypeKind::tensor) return caller;
  const Slot from = l.slot(caller);
  const BufferId buffer = l.add_buffer({.size = l.buffer(from.buffer).size});
  const SlotId uploaded = l.add_view(buffer, from.meta, from.value, from.dynamic);
  l.uploads.push_back({Copy{caller, uploaded, kUpload}, {buffer}});
  return uploaded;
}

SlotId weight_slot(Lowering& l, WeightId id, ValueId value) {
  SlotId& slot = l.weight_slots[static_cast<std::size_t>(id)];
  if (slot != kNone) {
    // First made as the target of a mutation, now read (two weights that swap).
    if (l.slot(slot).value == kNone) l.slot(slot).value = value;
    return slot;
  }
  const Weight& weight = l.weights.weights[static_cast<std::size_t>(id)];
  BufferId& buffer = l.weight_buffers[static_cast<std::size_t>(weight.storage)];
  if (buffer == kNone) {
    const Bytes size = l.weights.storages[static_cast<std::size_t>(weight.storage)].size;
    buffer = l.add_buffer({.space = Space::weight,
                           .kind = BufferKind::weight,
                           .size = size,
                           .index = weight.storage});
  }
  return slot = l.add_view(
             buffer, {weight.dtype, weight.sizes, weight.strides, weight.storage_offset, 0}, value);
}

// Layout for a copy of `meta` in a buffer of its own: the same strides if they
// leave no gaps, else row-major.
TensorMeta compact(TensorMeta meta) {
  if (!is_dense(meta)) meta.strides = contiguous_strides(meta.sizes);
  meta.storage_offset = 0;
  meta.storage_bytes = meta.extent_bytes();
  return meta;
}

// A new buffer of the given place, and a draft that copies `from` there.
SlotId copy_out(Lowering& l, SlotId from, Buffer place, std::int32_t stream) {
  const Slot source = l.slot(from);
  TensorMeta meta = compact(source.meta);
  place.size = meta.storage_bytes;
  const BufferId buffer = l.add_buffer(place);
  const SlotId to = l.add_view(buffer, std::move(meta), source.value, source.dynamic);
  l.steps.push_back({Copy{from, to, stream}, {source.buffer, buffer}});
  return to;
}

void order(Lowering& l, std::vector<Draft>& drafts, std::int32_t before, std::int32_t after,
           std::vector<BufferId> touches = {}) {
  const EventId event = l.next_event++;
  drafts.push_back({RecordEvent{event, before}, {}});
  drafts.push_back({WaitEvent{event, after}, std::move(touches)});
}

struct Mutation {
  SlotId from = kNone, to = kNone;
};

std::vector<Mutation> mutations(Lowering& l, OutputKind kind) {
  std::vector<Mutation> result;
  for (const Output& output : l.graph.outputs) {
    const auto* ref = std::get_if<Ref>(&output.value);
    if (output.kind != kind || ref == nullptr || ref->id < 0) continue;
    const SlotId from = value_slot(l, ref->id);
    const SlotId to = kind == OutputKind::buffer_mutation ? weight_slot(l, output.target, kNone)
                                                          : caller_slot(l, output.target);
    if (from >= 0 && from != to) result.push_back({from, to});
  }
  return result;
}

// The final writes into weights and inputs on the device. A source that lives
// where one of them writes is set aside first (two buffers that swap).
void write_back(Lowering& l, const std::vector<Mutation>& writes) {
  std::vector<Mutation> safe = writes;
  for (Mutation& write : safe) {
    const BufferId home = l.buffer_of(write.from);
    const bool overwritten = std::any_of(writes.begin(), writes.end(), [&](const Mutation& other) {
      return l.buffer_of(other.to) == home;
    });
    if (overwritten) write.from = copy_out(l, write.from, {}, kCompute);
  }
  for (const Mutation& write : safe) {
    l.steps.push_back(
        {Copy{write.from, write.to, kCompute}, {l.buffer_of(write.from), l.buffer_of(write.to)}});
  }
}

// May the caller have the storage that the steps wrote (device mode)?
bool must_copy(Lowering& l, BufferId id, const std::vector<Mutation>& writes) {
  const Buffer& buffer = l.buffer(id);
  if (buffer.space ==
      Space::input) {  // a view of the caller's own tensor, unless it is about to change
    return std::any_of(writes.begin(), writes.end(),
                       [&](const Mutation& write) { return l.buffer_of(write.to) == id; });
  }
  return buffer.space == Space::weight || static_cast<std::size_t>(id) < l.once_buffers;
}

void outputs_on_device(Lowering& l, const std::vector<std::pair<std::int32_t, SlotId>>& outputs) {
  std::vector<Mutation> writes = mutations(l, OutputKind::buffer_mutation);
  const std::vector<Mutation> inputs = mutations(l, OutputKind::input_mutation);
  writes.insert(writes.end(), inputs.begin(), inputs.end());
  std::map<SlotId, SlotId> copies;
  for (const auto& [position, slot] : outputs) {
    const BufferId id = l.buffer_of(slot);
    SlotId& result = l.program.outputs[static_cast<std::size_t>(position)];
    result = slot;
    if (id == kNone) continue;
    if (must_copy(l, id, writes)) {
      auto [found, is_new] = copies.try_emplace(slot, kNone);
      if (is_new)
        found->second = copy_out(
            l, slot, {.space = Space::output, .kind = BufferKind::output, .index = position},
            kCompute);
      result = found->second;
    } else if (Buffer& buffer = l.buffer(id); buffer.space == Space::arena) {
      buffer.space = Space::output;
      buffer.kind = BufferKind::output;
      buffer.index = position;
    }
  }
  write_back(l, writes);
}

// Downloads wait for the steps, and the arena for the downloads.
void outputs_on_host(Lowering& l, const std::vector<std::pair<std::int32_t, SlotId>>& outputs) {
  const std::vector<Mutation> to_caller = mutations(l, OutputKind::input_mutation);
  const std::vector<Mutation> writes = mutations(l, OutputKind::buffer_mutation);
  std::vector<BufferId> sources;
  const auto touch = [&](SlotId slot) {
    if (sources.empty()) order(l, l.steps, kCompute, kDownload);
    const BufferId source = l.buffer_of(slot);  // of several outputs: released once
    if (std::find(sources.begin(), sources.end(), source) == sources.end())
      sources.push_back(source);
  };
  std::map<SlotId, SlotId> copies;
  for (const auto& [position, slot] : outputs) {
    SlotId& result = l.program.outputs[static_cast<std::size_t>(position)];
    result = slot;
    if (l.buffer_of(slot) == kNone) continue;
    auto [found, is_new] = copies.try_emplace(slot, kNone);
    if (is_new) {
      touch(slot);
      found->second =
          copy_out(l, slot, {.space = Space::host, .kind = BufferKind::output, .index = position},
                   kDownload);
    }
    result = found->second;
  }
  for (const Mutation& write : to_caller) {
    touch(write.from);
    l.steps.push_back(
        {Copy{write.from, write.to, kDownload}, {l.buffer_of(write.from), l.buffer_of(write.to)}});
  }
  if (!sources.empty()) order(l, l.steps, kDownload, kCompute, std::move(sources));
  write_back(l, writes);
}

}  // namespace

SlotId value_slot(Lowering& l, ValueId id) {
  SlotId& slot = l.current[static_cast<std::size_t>(id)];
  if (slot != Lowering::kUnmade) return slot;
  const Value& value = l.graph.value(id);
  if (value.kind == ValueKind::node) {
    throw Error(ErrorKind::internal, "%" + value.name + " is read before it is made", "lowering");
  }
  slot =
      value.kind == ValueKind::input ? input_slot(l, value.index) : weight_slot(l, value.index, id);
  return slot;
}

void lower_outputs(Lowering& l) {
  std::vector<std::pair<std::int32_t, SlotId>> outputs;  // flat position and slot
  for (std::size_t i = 0; i < l.graph.outputs.size(); ++i) {
    const Output& output = l.graph.outputs[i];
    const auto* ref = std::get_if<Ref>(&output.value);
    if (output.kind != OutputKind::user || ref == nullptr || ref->id < 0) continue;
    const SlotId slot = value_slot(l, ref->id);
    if (slot >= 0) outputs.emplace_back(static_cast<std::int32_t>(i), slot);
  }
  if (l.options.io == IoPlace::host) {
    outputs_on_host(l, outputs);
  } else {
    outputs_on_device(l, outputs);
  }
  if (!l.uploads.empty()) order(l, l.uploads, kUpload, kCompute);
}

}  // namespace lowwater
