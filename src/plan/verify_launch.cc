// Meaning::check_launch: a launch is the call that its node describes.
#include <cmath>

#include "plan/verify_meaning.h"

namespace lowwater {
namespace {

using Kind = Violation::Kind;

// Equal, NaNs included.
bool same_literal(const Arg& a, const Arg& b) {
  if (a == b) return true;
  const auto nan = [](const Arg& arg) {
    if (const auto* real = std::get_if<double>(&arg)) return std::isnan(*real);
    const auto* number = std::get_if<WrappedNumber>(&arg);
    const auto* wrapped = number == nullptr ? nullptr : std::get_if<double>(&number->value);
    return wrapped != nullptr && std::isnan(*wrapped);
  };
  return a.index() == b.index() && nan(a) && nan(b);
}

}  // namespace

bool Meaning::stands_for(SlotId id, ValueId value) const {
  return id >= 0 && same_value(slot(id).value, value);
}

bool Meaning::same_ref(const Ref& given, const Ref& wanted) const {
  if (given.id >= 0) return stands_for(given.id, wanted.id);
  return wanted.id < 0 || absent_.count(wanted.id) > 0;
}

bool Meaning::same_refs(const std::vector<Ref>& given, const std::vector<Ref>& wanted) const {
  if (given.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!same_ref(given[i], wanted[i])) return false;
  }
  return true;
}

bool Meaning::same_arg(const Arg& given, const Arg& wanted) const {
  if (const auto* ref = std::get_if<Ref>(&wanted)) {
    if (std::holds_alternative<std::monostate>(given)) return same_ref({}, *ref);
    const auto* slot_ref = std::get_if<Ref>(&given);
    return slot_ref != nullptr && same_ref(*slot_ref, *ref);
  }
  if (const auto* list = std::get_if<RefList>(&wanted)) {
    const auto* slots = std::get_if<RefList>(&given);
    return slots != nullptr && same_refs(slots->refs, list->refs);
  }
  if (const auto* mixed = std::get_if<MixedInts>(&wanted)) {
    const auto* slots = std::get_if<MixedInts>(&given);
    return slots != nullptr && slots->values == mixed->values &&
           same_refs(slots->refs, mixed->refs);
  }
  return same_literal(given, wanted);
}

void Meaning::check_call(const Launch& launch, const Node& node) {
  if (launch.op != node.op || launch.args.size() != node.args.size()) {
    report_.add(Kind::wrong_value, "node {} of the graph calls {} with {} arguments", launch.node,
                node.op, node.args.size());
    return;
  }
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if (!same_arg(launch.args[i], node.args[i])) {
      report_.add(Kind::wrong_value, "argument {} is not the one in the graph", i);
    }
  }
}

void Meaning::check_results(const Launch& launch, const Node& node, bool in_loop) {
  if (launch.outputs.size() != node.outputs.size()) {
    report_.add(Kind::wrong_value, "has {} outputs where the graph has {}", launch.outputs.size(),
                node.outputs.size());
    return;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const SlotId id = launch.outputs[i];
    const ValueId value = node.outputs[i];
    if (id == kNone) {
      if (value != kNone) absent_.insert(value);
      continue;
    }
    if (slot(id).value != value) {
      report_.add(Kind::wrong_value, "output {} goes to a slot of {}", i,
                  report_.value(slot(id).value));
      continue;
    }
    const Type& type = graph_.value(value).type;
    const bool typed = slot(id).kind == type.kind &&
                       (type.kind != TypeKind::tensor || in_loop || type.dynamic ||
                        (slot(id).meta.sizes == type.sizes && slot(id).meta.dtype == type.dtype));
    if (!typed) {
      report_.add(Kind::wrong_value,
                  "the slot of {} has other sizes or another type than the graph says",
                  report_.value(value));
    }
  }
}

// Nothing moves across a barrier, which runs once.
void Meaning::check_order(const Launch& launch, const Node& node) {
  if (last_barrier_ != kNone && launch.node <= last_barrier_) {
    report_.add(Kind::wrong_value, "runs after the barrier at node {}, which follows it",
                last_barrier_);
  }
  if (node.barrier && last_node_ > launch.node) {
    report_.add(Kind::wrong_value, "is a barrier but runs after node {}", last_node_);
  }
  if (node.barrier) {
    last_barrier_ = launch.node;
    ++barriers_;
  }
  last_node_ = std::max(last_node_, launch.node);
}

void Meaning::check_launch(const Launch& launch, bool in_loop) {
  if (launch.node < 0 || static_cast<std::size_t>(launch.node) >= graph_.nodes.size()) {
    report_.add(Kind::wrong_value, "belongs to no node of the graph");
    return;
  }
  const Node& node = graph_.node(launch.node);
  // One tile's call has other sizes, perhaps another operator: its regions are
  // checked by the bytes that it reads and writes.
  if (!in_loop) check_call(launch, node);
  check_results(launch, node, in_loop);
  check_order(launch, node);
  const bool guarded = launch.guard != kNone;
  if (guarded != (node.guard != kNone) || (guarded && (!stands_for(launch.guard, node.guard) ||
                                                       launch.guard_when != node.guard_when))) {
    report_.add(Kind::wrong_value, "runs under another condition than in the graph");
  }
}

}  // namespace lowwater
