#include "plan/verify_meaning.h"

#include <algorithm>

#include "plan/verify_views.h"

namespace lowwater {
namespace {

using Kind = Violation::Kind;

std::int64_t key(BufferId buffer, ValueId value) { return (std::int64_t{buffer} << 32) + value; }

// Pieces of one tensor: where both have more than one index, they step alike.
bool same_strides(const TensorMeta& a, const TensorMeta& b) {
  if (a.sizes.size() != b.sizes.size()) return false;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if (a.sizes[i] > 1 && b.sizes[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

bool overlaps(const TensorMeta& a, const TensorMeta& b) {
  const ByteRange x = byte_extent(a), y = byte_extent(b);
  return x.begin < y.end && y.begin < x.end;
}

}  // namespace

Meaning::Meaning(const Graph& graph, const Program& program, Report& report)
    : graph_(graph),
      program_(program),
      report_(report),
      held_(program.buffers.size()),
      defined_(program.slots.size(), false) {
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& s = program.slots[i];
    if (s.buffer == kNone || !is_value(s.value)) continue;
    slots_[key(s.buffer, s.value)].push_back(static_cast<SlotId>(i));
    const bool weight = program.buffers[static_cast<std::size_t>(s.buffer)].space == Space::weight;
    if (weight && graph.value(s.value).kind == ValueKind::weight) hold(static_cast<SlotId>(i));
  }
}

void Meaning::begin_run() {
  last_barrier_ = last_node_ = kNone;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const SlotId id = program_.inputs[i];
    if (id == kNone) continue;
    if (i >= graph_.inputs.size() || slot(id).value != graph_.inputs[i].value) {
      report_.add(Kind::wrong_value, "input {} is bound to a slot of {}", i,
                  report_.value(slot(id).value));
    }
    hold(id);
  }
}

// --- what buffers hold ----------------------------------------------------------

// Two names of one weight are one value.
bool Meaning::same_value(ValueId a, ValueId b) const {
  if (a == b) return true;
  if (!is_value(a) || !is_value(b)) return false;
  const Value& x = graph_.value(a);
  const Value& y = graph_.value(b);
  return x.kind == ValueKind::weight && y.kind == ValueKind::weight && x.index == y.index;
}

void Meaning::forget(BufferId id) { held_[static_cast<std::size_t>(id)].clear(); }

void Meaning::hold(SlotId id) {
  const Slot& s = slot(id);
  if (s.buffer == kNone) {
    defined_[static_cast<std::size_t>(id)] = true;
  } else if (is_value(s.value)) {
    held_[static_cast<std::size_t>(s.buffer)][s.value] = {s.meta, !s.loop_strides.empty()};
  }
}

// Where the buffer has the value; a view that no step made is located through
// the slots that exist for it.
const Meaning::Place* Meaning::locate(BufferId buffer, ValueId value) {
  Held& held = held_[static_cast<std::size_t>(buffer)];
  if (const auto known = held.find(value); known != held.end()) return &known->second;
  const auto slots = slots_.find(key(buffer, value));
  if (slots == slots_.end()) return nullptr;
  for (const SlotId id : slots->second) {
    if (find_view(buffer, value, slot(id).meta, true) == Found::yes) return &held[value];
  }
  return nullptr;
}

Meaning::Found Meaning::find(BufferId buffer, ValueId value, const TensorMeta& meta, bool exact) {
  const Held& held = held_[static_cast<std::size_t>(buffer)];
  const auto known = held.find(value);
  if (known == held.end()) return find_view(buffer, value, meta, exact);
  if (!exact) return Found::yes;
  const Place& place = known->second;
  const bool same = place.part ? same_strides(place.meta, meta) : same_sequence(place.meta, meta);
  return same ? Found::yes : Found::elsewhere;
}

// The value was not written by itself: is it a view of one that is there?
Meaning::Found Meaning::find_view(BufferId buffer, ValueId value, const TensorMeta& meta,
                                  bool exact) {
  const Value& v = graph_.value(value);
  if (v.kind != ValueKind::node) return Found::no;
  for (const ValueId input : node_inputs(graph_.node(v.producer))) {
    const Place* operand = locate(buffer, input);
    if (operand == nullptr) continue;
    const bool part = operand->part;
    const ViewCheck check =
        check_view(graph_.node(v.producer), static_cast<std::size_t>(v.index), operand->meta, meta);
    if (exact && !part && check == ViewCheck::different) return Found::elsewhere;
    held_[static_cast<std::size_t>(buffer)][value] = {meta, part};
    return Found::yes;
  }
  return Found::no;
}

void Meaning::check_use(SlotId id) {
  const Slot& s = slot(id);
  if (s.kind != TypeKind::tensor) {
    if (!defined_[static_cast<std::size_t>(id)]) {
      report_.add(Kind::unwritten, "reads the number {} before it is known",
                  report_.value(s.value));
    }
    return;
  }
  if (!is_value(s.value)) {
    report_.add(Kind::wrong_value, "reads slot {}, which stands for no value", id);
    return;
  }
  if (s.buffer == kNone) return;  // malformed; reported with the addresses
  // A slot that moves with a loop shows a part: only the value can be compared.
  switch (find(s.buffer, s.value, s.meta, s.loop_strides.empty() && !s.dynamic)) {
    case Found::yes:
      return;
    case Found::elsewhere:
      report_.add(Kind::wrong_value, "slot {} does not see the elements of {} in {}", id,
                  report_.value(s.value), report_.buffer(s.buffer));
      return;
    case Found::no:
      break;
  }
  if (mutated_.count(s.buffer) > 0) {
    report_.add(Kind::early_release, "reads {} after it was overwritten", report_.value(s.value));
  } else {
    report_.add(Kind::wrong_value, "reads {} from {}, which does not hold it",
                report_.value(s.value), report_.buffer(s.buffer));
  }
}

void Meaning::copy(SlotId from, SlotId to) {
  const Slot& source = slot(from);
  const Slot& target = slot(to);
  const Space space = target.buffer == kNone
                          ? Space::arena
                          : program_.buffers[static_cast<std::size_t>(target.buffer)].space;
  if (source.meta.sizes != target.meta.sizes || source.meta.dtype != target.meta.dtype) {
    report_.add(Kind::wrong_value, "copies {} to a slot of other sizes or type",
                report_.value(source.value));
  }
  const bool to_input =
      std::find(program_.inputs.begin(), program_.inputs.end(), to) != program_.inputs.end();
  if (target.buffer != kNone && (space == Space::weight || space == Space::input || to_input)) {
    Held& held = held_[static_cast<std::size_t>(target.buffer)];
    std::erase_if(held, [&](const auto& item) { return overlaps(item.second.meta, target.meta); });
    if (is_value(source.value)) held[source.value] = {target.meta, false};
    mutated_.insert(target.buffer);
    mutations_.emplace_back(source.value, to);
    return;
  }
  if (!same_value(source.value, target.value)) {
    report_.add(Kind::wrong_value, "copies {} to a slot of {}", report_.value(source.value),
                report_.value(target.value));
  }
  hold(to);
}

// --- outputs ----------------------------------------------------------------------

void Meaning::check_outputs() {
  const auto barriers = std::count_if(graph_.nodes.begin(), graph_.nodes.end(),
                                      [](const Node& node) { return node.barrier; });
  if (barriers_ < barriers) {
    report_.add(Kind::wrong_value, "only {} of {} barriers ran", barriers_, barriers);
  }
  if (program_.outputs.size() != graph_.outputs.size()) {
    report_.add(Kind::wrong_value, "the program has {} outputs, the graph {}",
                program_.outputs.size(), graph_.outputs.size());
    return;
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const Output& output = graph_.outputs[i];
    const auto* ref = std::get_if<Ref>(&output.value);
    if (output.kind != OutputKind::user) {
      check_mutation(output, i);
      continue;
    }
    const SlotId id = program_.outputs[i];
    if (ref == nullptr || ref->id < 0 || absent_.count(ref->id) > 0) {
      if (id != kNone) report_.add(Kind::wrong_value, "output {} is a constant but has a slot", i);
    } else if (id == kNone || !same_value(slot(id).value, ref->id)) {
      report_.add(Kind::wrong_value, "output {} is not {}", i, report_.value(ref->id));
    } else {
      check_use(id);
    }
  }
}

void Meaning::check_mutation(const Output& output, std::size_t index) {
  const auto* ref = std::get_if<Ref>(&output.value);
  if (ref == nullptr || !is_value(ref->id)) return;
  const Value& value = graph_.value(ref->id);
  const bool buffer = output.kind == OutputKind::buffer_mutation;
  // The target itself, unchanged: nothing to copy.
  if (value.kind == (buffer ? ValueKind::weight : ValueKind::input) &&
      value.index == output.target) {
    return;
  }
  for (const auto& [copied, to] : mutations_) {
    const ValueId target = slot(to).value;
    const bool right_place =
        buffer ? !is_value(target) || (graph_.value(target).kind == ValueKind::weight &&
                                       graph_.value(target).index == output.target)
               : program_.inputs[static_cast<std::size_t>(output.target)] == to;
    if (copied == ref->id && right_place) return;
  }
  report_.add(Kind::wrong_value, "output {}: {} is never copied to {} {}", index,
              report_.value(ref->id), buffer ? "weight" : "input", output.target);
}

}  // namespace lowwater
