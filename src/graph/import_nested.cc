// Higher-order operators. Wrappers are inlined. torch.cond becomes guarded nodes:
//
//   %z = cond(%p, true: relu(x), false: sin(x))
//
//   %b: bool = sym::truth(%p)
//   %r = aten::relu(%x)   if %b
//   %s = aten::sin(%x)    if not %b
//   %z = lowwater::select(%b, %r, %s)
#include <array>

#include "graph/import_builder.h"

namespace lowwater {
namespace {

// Wrappers that only say how their body is to be run. Positions of arguments.
struct Wrapper {
  std::string_view op;
  std::size_t body;
  std::size_t operands;
  std::size_t operands_end;  // npos: all that follow
};

constexpr std::size_t kAll = std::string_view::npos;
constexpr std::array<Wrapper, 5> kWrappers = {{
    {"higher_order::wrap_with_set_grad_enabled", 1, 2, kAll},
    {"higher_order::wrap_with_autocast", 4, 5, kAll},
    {"higher_order::hints_wrapper", 0, 1, 2},
    {"higher_order::invoke_subgraph", 0, 2, kAll},
    {"higher_order::strict_mode", 0, 1, 2},
}};

const ProgramGraph& subgraph_of(const Importer& importer, const ProgramNode& node,
                                std::size_t position) {
  const auto* subgraph =
      position < node.args.size() ? std::get_if<Subgraph>(&node.args[position].second) : nullptr;
  if (!subgraph)
    refuse_node(importer, node, "argument " + std::to_string(position) + " is not a subgraph");
  return *subgraph->graph;
}

std::vector<Arg> operands_of(const Importer& importer, const Scope& scope, const ProgramNode& node,
                             std::size_t begin, std::size_t end) {
  std::vector<Arg> operands;
  for (std::size_t i = begin; i < std::min(end, node.args.size()); ++i) {
    for (Arg& arg : plain_args(importer, scope, node, node.args[i].second))
      operands.push_back(std::move(arg));
  }
  return operands;
}

// Imports `body` with its inputs standing for `operands`; returns what its
// outputs stand for.
std::vector<Arg> inline_graph(Importer& importer, const ProgramNode& node, const ProgramGraph& body,
                              const std::vector<Arg>& operands, ValueId guard, bool guard_when) {
  if (body.inputs.size() != operands.size()) {
    throw Error(ErrorKind::bad_input, "a subgraph takes another number of operands",
                place_of(importer, node));
  }
  Scope inner{.graph = body, .values = {}, .guard = guard, .guard_when = guard_when};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (const auto* named = std::get_if<Named>(&body.inputs[i]))
      inner.values.emplace(named->name, operands[i]);
  }
  import_nodes(importer, inner);
  std::vector<Arg> results;
  for (const ProgramArg& output : body.outputs) {
    for (Arg& arg : plain_args(importer, inner, node, output)) results.push_back(std::move(arg));
  }
  if (results.size() != node.outputs.size()) {
    throw Error(ErrorKind::bad_input, "a subgraph has another number of outputs",
                place_of(importer, node));
  }
  return results;
}

void bind_results(Scope& scope, const ProgramNode& node, std::vector<Arg> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!node.outputs[i].empty()) scope.values[node.outputs[i]] = std::move(results[i]);
  }
}

void refuse_autocast(const Importer& importer, const ProgramNode& node) {
  const auto* enabled = node.args.size() > 2 ? std::get_if<bool>(&node.args[2].second) : nullptr;
  if (enabled && !*enabled) return;
  refuse_node(importer, node, "autocast chooses types at run time",
              "export the model without torch.autocast; convert it with .half() or .bfloat16() if "
              "it is to be narrow");
}

// The boolean value that decides: `pred` is a tensor, or a number computed at run time.
Ref truth_of(Importer& importer, const Scope& scope, const ProgramNode& node, Ref pred) {
  if (importer.graph.value(pred.id).type.kind == TypeKind::boolean) return pred;
  return add_number_node(importer, scope, node, "sym::truth", {pred}, TypeKind::boolean);
}

// The guard of one branch: `pred` inside the guard of the scope that holds it.
struct Guard {
  ValueId value = kNone;
  bool when = true;
};

Guard branch_guard(Importer& importer, const Scope& scope, const ProgramNode& node, Ref pred,
                   bool when) {
  if (scope.guard == kNone) return {pred.id, when};
  // These run always: `pred` may be a number that was not computed, which the outer guard masks.
  const Scope always{.graph = scope.graph, .values = {}};
  const auto as_true = [&](Ref value, bool expected) {
    return expected
               ? value
               : add_number_node(importer, always, node, "sym::not", {value}, TypeKind::boolean);
  };
  const Ref outer = as_true({scope.guard}, scope.guard_when);
  const Ref inner = as_true(pred, when);
  return {add_number_node(importer, always, node, "sym::and", {outer, inner}, TypeKind::boolean).id,
          true};
}

std::optional<bool> known_truth(const Arg& pred) {
  if (const auto* truth = std::get_if<bool>(&pred)) return *truth;
  if (const auto* integer = std::get_if<std::int64_t>(&pred)) return *integer != 0;
  return std::nullopt;
}

// Joins what the branches give: one value per output, or the constant that both give.
void join_branches(Importer& importer, Scope& scope, const ProgramNode& node, Ref pred,
                   const std::vector<Arg>& if_true, const std::vector<Arg>& if_false) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (if_true[i] == if_false[i] && !std::holds_alternative<Ref>(if_true[i])) {
      scope.values[node.outputs[i]] = if_true[i];
      continue;
    }
    ProgramNode select{.op = "lowwater::select",
                       .name = node.name,
                       .outputs = {node.outputs[i]},
                       .source = node.source};
    const std::vector<ValueId> outputs = add_outputs(importer, scope, select);
    importer.graph.add_node({.op = select.op,
                             .args = {pred, if_true[i], if_false[i]},
                             .outputs = outputs,
                             .source = node.source,
                             .guard = scope.guard,
                             .guard_when = scope.guard_when});
  }
}

// cond(pred, true_graph, false_graph, [operands])
void import_cond(Importer& importer, Scope& scope, const ProgramNode& node) {
  if (node.args.size() < 3) refuse_node(importer, node, "has too few arguments");
  const std::vector<Arg> preds = plain_args(importer, scope, node, node.args[0].second);
  const std::vector<Arg> operands = operands_of(importer, scope, node, 3, kAll);
  const ProgramGraph& true_graph = subgraph_of(importer, node, 1);
  const ProgramGraph& false_graph = subgraph_of(importer, node, 2);
  if (preds.size() != 1) refuse_node(importer, node, "does not have one predicate");
  if (const auto known = known_truth(preds[0])) {
    const ProgramGraph& taken = *known ? true_graph : false_graph;
    bind_results(scope, node,
                 inline_graph(importer, node, taken, operands, scope.guard, scope.guard_when));
    return;
  }
  const auto* value = std::get_if<Ref>(&preds[0]);
  if (!value || value->id < 0)
    refuse_node(importer, node, "the predicate is neither a tensor nor a number");
  const Ref pred = truth_of(importer, scope, node, *value);
  const Guard then = branch_guard(importer, scope, node, pred, true);
  const std::vector<Arg> if_true =
      inline_graph(importer, node, true_graph, operands, then.value, then.when);
  const Guard otherwise = branch_guard(importer, scope, node, pred, false);
  const std::vector<Arg> if_false =
      inline_graph(importer, node, false_graph, operands, otherwise.value, otherwise.when);
  join_branches(importer, scope, node, pred, if_true, if_false);
}

}  // namespace

void import_nested(Importer& importer, Scope& scope, const ProgramNode& node) {
  if (node.op == "higher_order::cond") return import_cond(importer, scope, node);
  if (node.op == "higher_order::wrap_with_autocast") refuse_autocast(importer, node);
  for (const Wrapper& wrapper : kWrappers) {
    if (node.op != wrapper.op) continue;
    const std::vector<Arg> operands =
        operands_of(importer, scope, node, wrapper.operands, wrapper.operands_end);
    const ProgramGraph& body = subgraph_of(importer, node, wrapper.body);
    bind_results(scope, node,
                 inline_graph(importer, node, body, operands, scope.guard, scope.guard_when));
    return;
  }
  refuse_node(importer, node, "the higher-order operator is not supported",
              "loops over data (while_loop, scan, map) must be unrolled before export");
}

}  // namespace lowwater
