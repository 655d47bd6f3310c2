#include "plan/moves/instances.h"

#include <algorithm>

#include "ops/op_table.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

class Builder {
 public:
  Builder(const MoveContext& context, const Schedule& schedule)
      : c_(context),
        holding_(context.graph.values.size(), kNone),
        maker_(context.graph.values.size(), kNone) {
    result_.order = flat_order(schedule);
  }

  Instances run() {
    const std::size_t n = result_.order.size();
    result_.reads.resize(n), result_.makes.resize(n), result_.uses.resize(n);
    for (std::size_t p = 0; p < n; ++p) add(static_cast<std::int32_t>(p));
    for (const Output& output : c_.graph.outputs) {
      for_each_ref(output.value, [&](const Ref& ref) {
        const std::int32_t holding = holding_[at(ref.id)];
        if (holding != kNone) result_.holdings[at(holding)].leaves = true;
      });
    }
    return std::move(result_);
  }

 private:
  void add(std::int32_t position) {
    const NodeId id = result_.order[at(position)];
    const Node& node = c_.graph.node(id);
    auto& uses = result_.uses[at(position)];
    for (const ValueId input : node_inputs(node)) {
      if (maker_[at(input)] != kNone) result_.reads[at(position)].push_back(maker_[at(input)]);
      const std::int32_t holding = holding_[at(input)];
      if (holding == kNone || std::find(uses.begin(), uses.end(), holding) != uses.end()) continue;
      uses.push_back(holding);
      result_.holdings[at(holding)].users.push_back(position);
    }
    place_outputs(position, id, node);
  }

  void place_outputs(std::int32_t position, NodeId id, const Node& node) {
    const StepRecord* record = c_.facts.nodes[at(id)];
    const std::vector<ValueId> operands = is_scalar_op(node.op)
                                              ? std::vector<ValueId>{}
                                              : tensor_operands(c_.graph, node, c_.facts.values);
    std::vector<std::int32_t> fresh;  // by allocation of the record
    std::vector<std::int32_t> homes;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      homes.push_back(kNone);
      if (record == nullptr || i >= record->outputs.size()) continue;
      const StepOutput& output = record->outputs[i];
      if (output.home == OutputHome::alias)
        homes.back() = holding_[at(operands[at(output.source)])];
      if (output.home != OutputHome::fresh) continue;
      if (fresh.size() <= at(output.source)) fresh.resize(at(output.source) + 1, kNone);
      std::int32_t& home = fresh[at(output.source)];
      if (home == kNone) {
        home = static_cast<std::int32_t>(result_.holdings.size());
        result_.holdings.push_back({position, output.meta.storage_bytes, {}, false});
        result_.makes[at(position)].push_back(home);
      }
      homes.back() = home;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      holding_[at(node.outputs[i])] = homes[i];
      maker_[at(node.outputs[i])] = position;
    }
  }

  const MoveContext& c_;
  Instances result_;
  std::vector<std::int32_t> holding_;  // by ValueId: of its latest instance
  std::vector<std::int32_t> maker_;    // by ValueId: position of its latest instance
};

}  // namespace

Instances instances_of(const MoveContext& context, const Schedule& schedule) {
  return Builder(context, schedule).run();
}

Schedule with_order(const Schedule& from, std::vector<NodeId> order) {
  return {from.once, {ScheduleItem{Stage{std::move(order)}}}};
}

bool is_cheap(const MoveContext& context, NodeId id, double total_ms) {
  const Node& node = context.graph.node(id);
  if (node.barrier || node.guard != kNone || context.random[at(id)]) return false;
  for (const ValueId output : node.outputs)
    if (output != kNone && context.graph.value(output).type.dynamic) return false;
  if (is_scalar_op(node.op)) return true;
  const StepRecord* record = context.facts.nodes[at(id)];
  if (record == nullptr || record->infeasible) return false;
  const OpRow* row = find_op(node.op);
  const bool light =
      row != nullptr && (row->cost == CostClass::free || row->cost == CostClass::pointwise);
  // Anything else must be a small part of the run.
  return light || record->events.empty() || record->ms <= 0.005 * total_ms;
}

}  // namespace lowwater
