// Mirrors lower*.cc: bind, outputs.
#include "plan/liveness_drafts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lowwater {
namespace {

constexpr BufferId kUnmade = -2;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

class Drafter {
 public:
  explicit Drafter(const LivenessModel::Shape& shape)
      : s_(shape),
        current_(shape.graph.values.size(), kUnmade),
        weight_buffers_(shape.weights.storages.size(), kNone),
        caller_buffers_(shape.graph.inputs.size(), kUnmade) {}

  FlatDrafts run(const Schedule& schedule, const std::vector<NodeId>& order) {
    for (const NodeId node : schedule.once) bind(node, -1);
    result_.once_buffers = static_cast<BufferId>(result_.places.size());
    result_.once = std::exchange(drafts_, {});
    for (std::size_t i = 0; i < order.size(); ++i) bind(order[i], static_cast<std::int32_t>(i));
    bind_outputs();
    result_.body = std::move(uploads_);
    result_.body.insert(result_.body.end(), drafts_.begin(), drafts_.end());
    for (const FlatDraft& draft : result_.body) keep_constants(draft);
    result_.takers.resize(result_.places.size());
    return std::move(result_);
  }

 private:
  Place& place(BufferId id) { return result_.places[at(id)]; }

  BufferId add(Place value) {
    result_.places.push_back(value);
    return static_cast<BufferId>(result_.places.size()) - 1;
  }

  void touch(FlatDraft& draft, BufferId id) {
    if (id < 0) return;
    result_.touches.push_back(id);
    draft.touch_end = static_cast<std::int32_t>(result_.touches.size());
  }

  FlatDraft new_draft() {
    const auto end = static_cast<std::int32_t>(result_.touches.size());
    return {.touch_begin = end, .touch_end = end};
  }

  // What the body reads of `once` lives as long as the session.
  void keep_constants(const FlatDraft& draft) {
    for (std::int32_t t = draft.touch_begin; t < draft.touch_end; ++t) {
      const BufferId id = result_.touches[at(t)];
      if (id < result_.once_buffers && place(id).space == Space::arena)
        place(id).space = Space::constant;
    }
  }

  // --- inputs and weights ---

  BufferId caller_buffer(std::int32_t position) {
    BufferId& id = caller_buffers_[at(position)];
    if (id != kUnmade) return id;
    const ValueShape& value = s_.values[at(s_.graph.inputs[at(position)].value)];
    if (value.meta == nullptr) return id = kNone;
    return id = add({s_.options.io == IoPlace::host ? Space::host : Space::input, value.extent});
  }

  BufferId input_buffer(std::int32_t position) {
    const BufferId caller = caller_buffer(position);
    if (s_.options.io == IoPlace::device || caller == kNone) return caller;
    const BufferId uploaded = add({Space::arena, place(caller).size});
    FlatDraft upload = new_draft();
    upload.copy_to = uploaded;
    touch(upload, uploaded);
    uploads_.push_back(upload);
    return uploaded;
  }

  BufferId weight_buffer(WeightId weight) {
    const StorageIndex storage = s_.weights.weights[at(weight)].storage;
    BufferId& id = weight_buffers_[at(storage)];
    if (id == kNone) id = add({Space::weight, s_.weights.storages[at(storage)].size});
    return id;
  }

  BufferId read(ValueId id) {
    if (current_[at(id)] != kUnmade) return current_[at(id)];
    const Value& value = s_.graph.value(id);
    return current_[at(id)] = value.kind == ValueKind::input ? input_buffer(value.index)
                                                             : weight_buffer(value.index);
  }

  // --- nodes ---

  void bind(NodeId id, std::int32_t position) {
    const NodeShape& node = s_.nodes[at(id)];
    // An upload that this causes is a draft of its own: reads come before touches.
    for (const NodeShape::Use& use : node.uses) read(use.value);
    if (node.guard != kNone) read(node.guard);
    FlatDraft draft = new_draft();
    draft.position = position, draft.node = id;
    draft.first_alloc = static_cast<BufferId>(result_.places.size());
    for (const NodeShape::Use& use : node.uses) touch(draft, read(use.value));
    if (node.guard != kNone) touch(draft, read(node.guard));
    for (const NodeShape::Alloc& alloc : node.allocs) {
      const BufferId buffer = add({Space::arena, alloc.size, alloc.temporary});
      if (!alloc.temporary) touch(draft, buffer);
    }
    // All operands are read before an output replaces them.
    outs_.clear();
    for (const NodeShape::Out& out : node.outs)
      outs_.push_back(out.alloc >= 0         ? draft.first_alloc + out.alloc
                      : out.operand != kNone ? read(out.operand)
                                             : kNone);
    for (std::size_t i = 0; i < outs_.size(); ++i) {
      current_[at(node.outs[i].value)] = outs_[i];
      touch(draft, outs_[i]);
    }
    if (!node.runs) {
      result_.touches.resize(at(draft.touch_begin));
      return;
    }
    result_.takers.resize(result_.places.size());
    if (node.shared_alloc >= 0)
      result_.takers[at(draft.first_alloc + node.shared_alloc)] = sharing_candidates(node);
    if (position >= 0) result_.ms += node.ms;
    drafts_.push_back(draft);
  }

  // Buffers whose address output 0 may take if nobody reads them later: nothing
  // else in the call looks at their bytes but at the same view in such a place.
  std::vector<BufferId> sharing_candidates(const NodeShape& node) {
    std::vector<BufferId> candidates;
    for (const NodeShape::Use& use : node.uses) {
      if (!use.takes) continue;
      const BufferId wanted = read(use.value);
      if (wanted < 0 || place(wanted).size != s_.values[at(use.value)].extent) continue;
      const bool alone =
          std::all_of(node.uses.begin(), node.uses.end(), [&](const NodeShape::Use& other) {
            if (read(other.value) != wanted) return true;
            if (!other.direct) return false;
            return other.value == use.value || same_meta(other.value, use.value);
          });
      if (alone) candidates.push_back(wanted);
    }
    return candidates;
  }

  bool same_meta(ValueId a, ValueId b) const {
    const TensorMeta &x = *s_.values[at(a)].meta, &y = *s_.values[at(b)].meta;
    return x.dtype == y.dtype && x.sizes == y.sizes && x.strides == y.strides &&
           x.storage_offset == y.storage_offset;
  }

  // --- outputs and mutations: as lower_io.cc ---

  using SlotKey = std::pair<ValueKind, std::int32_t>;  // two values of one weight are one slot
  SlotKey slot_key(ValueId id) const {
    const Value& value = s_.graph.value(id);
    return {value.kind, value.kind == ValueKind::node ? id : value.index};
  }

  struct Write {
    ValueId from = kNone;
    BufferId from_buffer = kNone, to = kNone;
  };

  std::vector<Write> writes_of(OutputKind kind) {
    std::vector<Write> writes;
    for (const Output& output : s_.graph.outputs) {
      const auto* ref = std::get_if<Ref>(&output.value);
      if (output.kind != kind || ref == nullptr || ref->id < 0) continue;
      const BufferId from = read(ref->id);
      const bool to_weight = kind == OutputKind::buffer_mutation;
      const BufferId to = to_weight ? weight_buffer(output.target) : caller_buffer(output.target);
      const SlotKey target{to_weight ? ValueKind::weight : ValueKind::input, output.target};
      const bool same_slot = slot_key(ref->id) == target && from == to;
      if (from != kNone && !same_slot) writes.push_back({ref->id, from, to});
    }
    return writes;
  }

  BufferId copy_out(BufferId from, ValueId value, Space space) {
    const BufferId to = add({space, s_.values[at(value)].compact});
    add_copy(from, to);
    return to;
  }

  void add_copy(BufferId from, BufferId to) {
    FlatDraft copy = new_draft();
    copy.copy_to = to;
    touch(copy, from);
    touch(copy, to);
    drafts_.push_back(copy);
  }

  void write_back(std::vector<Write> writes) {
    std::vector<Write> safe = writes;
    for (Write& write : safe) {
      const bool overwritten = std::any_of(writes.begin(), writes.end(), [&](const Write& other) {
        return other.to == write.from_buffer;
      });
      if (overwritten) write.from_buffer = copy_out(write.from_buffer, write.from, Space::arena);
    }
    for (const Write& write : safe) add_copy(write.from_buffer, write.to);
  }

  void bind_outputs() {
    std::vector<ValueId> outputs;
    for (const Output& output : s_.graph.outputs) {
      const auto* ref = std::get_if<Ref>(&output.value);
      if (output.kind != OutputKind::user || ref == nullptr || ref->id < 0) continue;
      if (read(ref->id) >= 0) outputs.push_back(ref->id);
    }
    if (s_.options.io == IoPlace::host)
      outputs_on_host(outputs);
    else
      outputs_on_device(outputs);
  }

  void outputs_on_device(const std::vector<ValueId>& outputs) {
    std::vector<Write> writes = writes_of(OutputKind::buffer_mutation);
    const std::vector<Write> to_inputs = writes_of(OutputKind::input_mutation);
    writes.insert(writes.end(), to_inputs.begin(), to_inputs.end());
    std::map<SlotKey, bool> copied;
    for (const ValueId value : outputs) {
      const BufferId id = read(value);
      const Space space = place(id).space;
      const bool changes = std::any_of(writes.begin(), writes.end(),
                                       [&](const Write& write) { return write.to == id; });
      const bool must_copy =
          space == Space::input ? changes : space == Space::weight || id < result_.once_buffers;
      if (must_copy) {
        if (copied.try_emplace(slot_key(value), true).second) copy_out(id, value, Space::output);
      } else if (space == Space::arena) {
        place(id).space = Space::output;
      }
    }
    write_back(std::move(writes));
  }

  void outputs_on_host(const std::vector<ValueId>& outputs) {
    const std::vector<Write> to_caller = writes_of(OutputKind::input_mutation);
    const std::vector<Write> writes = writes_of(OutputKind::buffer_mutation);
    std::vector<BufferId> sources;
    std::map<SlotKey, bool> copied;
    for (const ValueId value : outputs) {
      if (!copied.try_emplace(slot_key(value), true).second) continue;
      sources.push_back(read(value));
      copy_out(read(value), value, Space::host);
    }
    for (const Write& write : to_caller) {
      sources.push_back(write.from_buffer);
      add_copy(write.from_buffer, write.to);
    }
    FlatDraft wait = new_draft();  // the arena waits for the downloads
    for (const BufferId id : sources) touch(wait, id);
    drafts_.push_back(wait);
    write_back(writes);
  }

  const LivenessModel::Shape& s_;
  FlatDrafts result_;
  std::vector<BufferId> current_;  // by ValueId
  std::vector<BufferId> weight_buffers_, caller_buffers_;
  std::vector<BufferId> outs_;
  std::vector<FlatDraft> drafts_, uploads_;
};

}  // namespace

FlatDrafts draft_schedule(const LivenessModel::Shape& shape, const Schedule& schedule,
                          const std::vector<NodeId>& order) {
  return Drafter(shape).run(schedule, order);
}

}  // namespace lowwater
