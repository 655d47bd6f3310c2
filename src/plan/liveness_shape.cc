#include "plan/liveness_shape.h"

#include <algorithm>

#include "analysis/views.h"
#include "ops/op_table.h"
#include "plan/lower_internal.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

class Describer {
 public:
  Describer(const Graph& graph, const Facts& facts, CostProvider& costs,
            std::vector<ValueShape>& values)
      : graph_(graph), facts_(facts), costs_(costs), values_(values) {}

  void add_source(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.type.kind == TypeKind::tensor && value.kind != ValueKind::node)
      set_value(id, value.kind == ValueKind::input && value.type.dynamic);
  }

  NodeShape node(NodeId id) {
    const Node& node = graph_.node(id);
    NodeShape shape;
    shape.guard = node.guard;
    for (const Arg& arg : node.args)
      for_each_ref(arg, [&](const Ref& ref) { shape.uses.push_back({ref.id}); });
    if (is_scalar_op(node.op)) {
      for (const ValueId out : node.outputs) shape.outs.push_back({out});
      return shape;
    }
    const StepRecord* known = facts_.nodes[at(id)];
    const StepRecord& record = known != nullptr ? *known : costs_.record(facts_.specs[at(id)]);
    shape.ms = record.ms;
    shape.operands = tensor_operands(graph_, node, facts_.values);
    add_events(record, shape);
    add_outputs(node, record, shape);
    shape.runs = !is_view(id, record, shape);
    if (shape.runs) add_sharing(node, shape);
    return shape;
  }

 private:
  void set_value(ValueId id, bool dynamic) {
    const TensorMeta& meta = facts_.values[at(id)].meta;
    const bool dense = is_dense(meta);
    TensorMeta packed = meta;
    packed.strides = contiguous_strides(meta.sizes);
    const Bytes extent = meta.extent_bytes();
    values_[at(id)] = {&meta, extent, dense ? extent : packed.extent_bytes(), dynamic,
                       dense && !dynamic && meta.storage_offset == 0};
  }

  static void add_events(const StepRecord& record, NodeShape& shape) {
    for (const AllocEvent& event : record.events) {
      shape.events.push_back({event.is_alloc, event.id});
      if (!event.is_alloc) continue;
      if (shape.allocs.size() <= at(event.id)) shape.allocs.resize(at(event.id) + 1);
      shape.allocs[at(event.id)].size = event.size;
    }
    for (const StepOutput& output : record.outputs) {
      if (output.home == OutputHome::fresh && at(output.source) < shape.allocs.size())
        shape.allocs[at(output.source)].temporary = false;
    }
  }

  void add_outputs(const Node& node, const StepRecord& record, NodeShape& shape) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId value = node.outputs[i];
      if (value == kNone) continue;
      NodeShape::Out out{value};
      const StepOutput& output = record.outputs[i];
      const bool tensor = graph_.value(value).type.kind == TypeKind::tensor;
      bool dynamic = graph_.value(value).type.dynamic;
      if (tensor && output.home == OutputHome::fresh && at(output.source) < shape.allocs.size()) {
        out.alloc = output.source;
      } else if (tensor && output.home == OutputHome::alias) {
        out.operand = shape.operands[at(output.source)];
        dynamic = dynamic || has_bits(node.op) || values_[at(out.operand)].dynamic;
      }
      if (tensor && (output.home == OutputHome::fresh || out.operand != kNone))
        set_value(value, dynamic);
      shape.outs.push_back(out);
    }
  }

  // As lower_node.cc: nothing runs if every output is a view of an operand.
  bool is_view(NodeId id, const StepRecord& record, const NodeShape& shape) const {
    const Node& node = graph_.node(id);
    if (node.barrier || node.guard != kNone || has_bits(node.op) || !record.events.empty())
      return false;
    if (facts_.specs[at(id)].worst_case) return false;
    for (const ValueId operand : shape.operands)
      if (values_[at(operand)].dynamic) return false;
    bool any = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone || record.outputs[i].home == OutputHome::absent) continue;
      if (record.outputs[i].home != OutputHome::alias || graph_.value(node.outputs[i]).type.dynamic)
        return false;
      any = true;
    }
    return any;
  }

  // The part of the sharing rule that does not depend on the schedule.
  void add_sharing(const Node& node, NodeShape& shape) const {
    const OpRow* row = find_op(node.op);
    if (row == nullptr || row->share_mask == 0 || node.barrier || node.guard != kNone) return;
    if (node.outputs.empty() || node.outputs[0] == kNone || shape.outs[0].alloc < 0) return;
    const std::int32_t alloc = shape.outs[0].alloc;
    const ValueShape& out = values_[at(node.outputs[0])];
    const Bytes size = shape.allocs[at(alloc)].size;
    if (!out.fills || out.extent != size || size == 0) return;
    for (std::size_t i = 1; i < shape.outs.size(); ++i)
      if (shape.outs[i].alloc == alloc) return;
    shape.shared_alloc = alloc;
    std::size_t use = 0;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      const bool direct =
          std::holds_alternative<Ref>(node.args[i]) && i < 32 && ((row->share_mask >> i) & 1U) != 0;
      for_each_ref(node.args[i], [&](const Ref& ref) {
        const ValueShape& operand = values_[at(ref.id)];
        shape.uses[use].direct = direct;
        shape.uses[use].takes = direct && operand.meta != nullptr && operand.fills &&
                                operand.extent == size && operand.meta->dtype == out.meta->dtype &&
                                same_layout(*operand.meta, *out.meta);
        ++use;
      });
    }
  }

  const Graph& graph_;
  const Facts& facts_;
  CostProvider& costs_;
  std::vector<ValueShape>& values_;
};

}  // namespace

void describe_nodes(const Graph& graph, const Facts& facts, CostProvider& costs,
                    std::vector<NodeShape>& nodes, std::vector<ValueShape>& values) {
  values.assign(graph.values.size(), {});
  Describer describer(graph, facts, costs, values);
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    describer.add_source(static_cast<ValueId>(i));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    nodes.push_back(describer.node(static_cast<NodeId>(i)));
}

}  // namespace lowwater
