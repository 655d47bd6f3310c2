#include "plan/liveness.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/liveness_shape.h"

namespace lowwater {
namespace {

constexpr BufferId kUnmade = -2;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// What is left of a Buffer.
struct Place {
  Space space = Space::arena;
  Bytes size = 0;
  bool temporary = false;
  bool taken = false;      // another buffer took its address
  std::int32_t last = -1;  // the last draft that touches it
};

// A launch (`node`) or a copy (`copy_to`), and what it keeps alive.
struct Draft {
  std::int32_t position = -1;  // in flat_order
  NodeId node = kNone;
  BufferId copy_to = kNone;
  BufferId first_alloc = 0;  // allocation i of the node is buffer first_alloc + i
  std::int32_t touch_begin = 0, touch_end = 0;  // in Walk::touches_
  bool shares = false;                          // its shared_alloc takes an operand's address
};

// Mirrors lower*.cc: bind, outputs, share, emit.
class Walk {
 public:
  explicit Walk(const LivenessModel::Shape& shape)
      : s_(shape),
        current_(shape.graph.values.size(), kUnmade),
        weight_buffers_(shape.weights.storages.size(), kNone),
        caller_buffers_(shape.graph.inputs.size(), kUnmade) {}

  Liveness run(const Schedule& schedule) {
    for (const NodeId node : schedule.once) bind(node, -1);
    once_buffers_ = static_cast<BufferId>(places_.size());
    std::vector<Draft> once = std::exchange(drafts_, {});
    const std::vector<NodeId> order = flat_order(schedule);
    for (std::size_t i = 0; i < order.size(); ++i) bind(order[i], static_cast<std::int32_t>(i));
    bind_outputs();
    drafts_.insert(drafts_.begin(), uploads_.begin(), uploads_.end());
    for (const BufferId id : bodies_touches()) {
      if (id < once_buffers_ && place(id).space == Space::arena) place(id).space = Space::constant;
    }
    result_.at_step.assign(order.size(), 0);
    const Bytes once_peak = simulate(once, nullptr);
    result_.arena = std::max(once_peak, simulate(drafts_, &result_.at_step));
    add_up();
    return std::move(result_);
  }

 private:
  Place& place(BufferId id) { return places_[at(id)]; }
  bool in_arena(BufferId id) { return id >= 0 && place(id).space == Space::arena; }

  BufferId add(Place value) {
    places_.push_back(value);
    return static_cast<BufferId>(places_.size()) - 1;
  }

  void touch(Draft& draft, BufferId id) {
    if (id < 0) return;
    touches_.push_back(id);
    draft.touch_end = static_cast<std::int32_t>(touches_.size());
  }

  Draft new_draft() {
    const auto end = static_cast<std::int32_t>(touches_.size());
    return {.touch_begin = end, .touch_end = end};
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
    Draft upload = new_draft();
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
    Draft draft = new_draft();
    draft.position = position, draft.node = id;
    draft.first_alloc = static_cast<BufferId>(places_.size());
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
      touches_.resize(at(draft.touch_begin));
      return;
    }
    takers_.resize(places_.size(), {});
    if (node.shared_alloc >= 0)
      takers_[at(draft.first_alloc + node.shared_alloc)] = sharing_candidates(node);
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
    Draft copy = new_draft();
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
          space == Space::input ? changes : space == Space::weight || id < once_buffers_;
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
    Draft wait = new_draft();  // the arena waits for the downloads
    for (const BufferId id : sources) touch(wait, id);
    drafts_.push_back(wait);
    write_back(writes);
  }

  // --- lifetimes ---

  std::vector<BufferId> bodies_touches() const {
    std::vector<BufferId> all;
    for (const Draft& draft : drafts_)
      all.insert(all.end(), touches_.begin() + draft.touch_begin,
                 touches_.begin() + draft.touch_end);
    return all;
  }

  void find_sharing(std::vector<Draft>& drafts) {
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      const Draft& draft = drafts[i];
      for (std::int32_t t = draft.touch_begin; t < draft.touch_end; ++t)
        place(touches_[at(t)]).last = static_cast<std::int32_t>(i);
    }
    if (!s_.options.share_addresses) return;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      Draft& draft = drafts[i];
      if (draft.node == kNone || s_.nodes[at(draft.node)].shared_alloc < 0) continue;
      const BufferId out = draft.first_alloc + s_.nodes[at(draft.node)].shared_alloc;
      if (!in_arena(out)) continue;
      for (const BufferId operand : takers_[at(out)]) {
        if (!in_arena(operand) || place(operand).last != static_cast<std::int32_t>(i)) continue;
        place(operand).taken = draft.shares = true;
        break;
      }
    }
  }

  Bytes aligned(BufferId id) { return align_up(place(id).size, s_.alignment); }

  // Peak of the arena over one time line; by position into `at_step`.
  Bytes simulate(std::vector<Draft>& drafts, std::vector<Bytes>* at_step) {
    for (Place& each : places_) each.last = -1;
    find_sharing(drafts);
    Bytes live = 0, most = 0;
    std::size_t next_position = 0;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      const Draft& draft = drafts[i];
      if (at_step != nullptr && draft.position >= 0)
        for (; next_position < at(draft.position); ++next_position)
          (*at_step)[next_position] = live;
      Bytes peak = live;
      if (draft.node != kNone) peak = run_events(draft, live);
      if (in_arena(draft.copy_to)) peak = live += aligned(draft.copy_to);
      most = std::max(most, peak);
      if (at_step != nullptr && draft.position >= 0) (*at_step)[next_position++] = peak;
      for (std::int32_t t = draft.touch_begin; t < draft.touch_end; ++t) {
        const BufferId id = touches_[at(t)];
        if (!in_arena(id) || place(id).last != static_cast<std::int32_t>(i) || place(id).taken)
          continue;
        live -= aligned(id);
        place(id).last = -1;  // touched twice, released once
      }
    }
    return most;
  }

  // Updates `live`; returns the most during the script.
  Bytes run_events(const Draft& draft, Bytes& live) {
    const NodeShape& node = s_.nodes[at(draft.node)];
    Bytes most = live, open = 0;
    for (const NodeShape::Event& event : node.events) {
      const BufferId id = draft.first_alloc + event.id;
      if (!in_arena(id) || (draft.shares && event.id == node.shared_alloc)) continue;
      const bool temporary = place(id).temporary;
      if (event.is_alloc)
        live += aligned(id), open += temporary ? aligned(id) : 0;
      else if (temporary)
        live -= aligned(id), open -= aligned(id);
      most = std::max(most, live);
    }
    live -= open;  // what the step never frees ends with it
    return most;
  }

  void add_up() {
    for (const Place& each : places_) {
      if (each.space == Space::constant) result_.constants += align_up(each.size, s_.alignment);
      if (each.space == Space::weight) result_.weights += each.size;
      if (each.space == Space::input) result_.inputs += each.size;
      if (each.space == Space::output) result_.outputs += each.size;
    }
  }

  const LivenessModel::Shape& s_;
  Liveness result_;
  std::vector<Place> places_;                  // by BufferId
  std::vector<std::vector<BufferId>> takers_;  // by BufferId: sharing candidates
  std::vector<BufferId> current_;              // by ValueId
  std::vector<BufferId> weight_buffers_, caller_buffers_;
  std::vector<BufferId> touches_, outs_;
  std::vector<Draft> drafts_, uploads_;
  BufferId once_buffers_ = 0;
};

}  // namespace

LivenessModel::LivenessModel(const Graph& graph, const WeightTable& weights, const Facts& facts,
                             CostProvider& costs, const LowerOptions& options) {
  auto shape =
      std::make_unique<Shape>(Shape{graph, weights, facts, options, costs.alignment(), {}, {}});
  describe_nodes(graph, facts, costs, shape->nodes, shape->values);
  shape_ = std::move(shape);
}

LivenessModel::~LivenessModel() = default;
LivenessModel::LivenessModel(LivenessModel&&) noexcept = default;

Liveness LivenessModel::run(const Schedule& schedule) const { return Walk(*shape_).run(schedule); }

}  // namespace lowwater
