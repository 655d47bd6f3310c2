// Calls of operators, and numbers computed from sizes or data.
#include <array>

#include "graph/import_builder.h"

namespace lowwater {
namespace {

struct ScalarOp {
  std::string_view name;
  Fn fn;
};

// Python's operators on sizes, as "sym::<name>".
constexpr std::array<ScalarOp, 27> kScalarOps = {{
    {"add", Fn::add},         {"sub", Fn::sub},
    {"mul", Fn::mul},         {"floordiv", Fn::floordiv},
    {"truediv", Fn::truediv}, {"mod", Fn::mod},
    {"pow", Fn::pow},         {"neg", Fn::neg},
    {"pos", Fn::pos},         {"lshift", Fn::lshift},
    {"rshift", Fn::rshift},   {"eq", Fn::eq},
    {"ne", Fn::ne},           {"lt", Fn::lt},
    {"le", Fn::le},           {"gt", Fn::gt},
    {"ge", Fn::ge},           {"and", Fn::bit_and},
    {"or", Fn::bit_or},       {"not", Fn::logical_not},
    {"max", Fn::max},         {"min", Fn::min},
    {"int", Fn::trunc},       {"trunc", Fn::trunc},
    {"float", Fn::to_real},   {"sqrt", Fn::sqrt},
    {"ite", Fn::where},
}};

const ScalarOp* find_scalar_op(std::string_view op) {
  for (const ScalarOp& row : kScalarOps) {
    if (op.substr(5) == row.name) return &row;  // after "sym::"
  }
  return nullptr;
}

std::optional<Number> as_number(const Arg& arg) {
  if (const auto* truth = std::get_if<bool>(&arg)) return *truth;
  if (const auto* integer = std::get_if<std::int64_t>(&arg)) return *integer;
  if (const auto* real = std::get_if<double>(&arg)) return *real;
  return std::nullopt;
}

// The result if every operand is known.
std::optional<Number> fold(const ScalarOp& op, const std::vector<Arg>& args) {
  std::vector<Number> numbers;
  bool all_truths = true;
  for (const Arg& arg : args) {
    const auto number = as_number(arg);
    if (!number) return std::nullopt;
    all_truths = all_truths && std::holds_alternative<bool>(*number);
    numbers.push_back(*number);
  }
  // True & True is True in Python, not 1.
  if (all_truths && op.fn == Fn::bit_and) return compute(Fn::logical_and, numbers);
  if (all_truths && op.fn == Fn::bit_or) return compute(Fn::logical_or, numbers);
  return compute(op.fn, numbers);
}

void import_scalar(Importer& importer, Scope& scope, const ProgramNode& node) {
  const ScalarOp* op = find_scalar_op(node.op);
  if (!op) refuse_node(importer, node, "the operation on numbers is not supported");
  std::vector<Arg> args;
  for (const auto& [name, arg] : node.args) {
    for (Arg& item : plain_args(importer, scope, node, arg)) args.push_back(std::move(item));
  }
  if (node.outputs.size() != 1)
    refuse_node(importer, node, "an operation on numbers has one result");
  if (const auto result = fold(*op, args)) {
    scope.values[node.outputs[0]] = number_arg(*result);
    return;
  }
  const std::vector<ValueId> outputs = add_outputs(importer, scope, node);
  importer.graph.add_node({.op = node.op,
                           .args = std::move(args),
                           .outputs = outputs,
                           .source = node.source,
                           .guard = scope.guard,
                           .guard_when = scope.guard_when});
}

// Numbers whose symbols are all bound need no node.
bool fold_known(const Importer& importer, Scope& scope, const ProgramNode& node) {
  if (node.outputs.empty()) return false;
  std::vector<Number> numbers;
  for (const std::string& output : node.outputs) {
    const auto scalar = scope.graph.scalars.find(output);
    if (scalar == scope.graph.scalars.end()) return false;
    const auto known = known_number(importer, scalar->second);
    if (!known) return false;
    numbers.push_back(*known);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    scope.values[node.outputs[i]] = number_arg(numbers[i]);
  return true;
}

// aten::sym_size.int of a dimension that does not depend on data.
bool fold_size(const Importer& importer, Scope& scope, const ProgramNode& node,
               const std::vector<Arg>& args) {
  if (node.op != "aten::sym_size.int" || args.size() != 2 || node.outputs.size() != 1) return false;
  const auto* self = std::get_if<Ref>(&args[0]);
  const auto* dim = std::get_if<std::int64_t>(&args[1]);
  if (!self || !dim || self->id < 0) return false;
  const Type& type = importer.graph.value(self->id).type;
  const auto rank = static_cast<std::int64_t>(type.sizes.size());
  if (*dim < -rank || *dim >= rank) refuse_node(importer, node, "the dimension does not exist");
  const auto index = static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim);
  const auto dynamic = importer.dynamic_dims.find(self->id);
  if (dynamic != importer.dynamic_dims.end() && dynamic->second[index]) return false;
  scope.values[node.outputs[0]] = type.sizes[index];
  return true;
}

void import_call(Importer& importer, Scope& scope, const ProgramNode& node) {
  const Schema* schema = importer.schemas.find(node.op);
  if (!schema) {
    refuse_node(importer, node, "the operator is not known to this PyTorch",
                node.op.starts_with("aten::")
                    ? "export the model with the PyTorch version that runs it"
                    : "load the library that defines it");
  }
  std::vector<Arg> args = convert_args(importer, scope, node, *schema);
  check_inference_mode(importer, node, *schema, args);
  if (fold_size(importer, scope, node, args)) return;
  if (const auto operand = passes_through(node, args); operand && node.outputs.size() == 1) {
    scope.values[node.outputs[0]] = *operand;
    return;
  }
  bound_symbols(importer, scope, node, *schema, args);
  const std::vector<ValueId> outputs = add_outputs(importer, scope, node);
  importer.graph.add_node({.op = node.op,
                           .args = std::move(args),
                           .outputs = outputs,
                           .source = node.source,
                           .guard = scope.guard,
                           .guard_when = scope.guard_when});
}

// Export (2.9 to 2.11) gives an LSTM's last states one dimension of 1 too many:
// [layers, 1, batch, hidden]. No kernel returns that.
void repair_states(const ProgramNode& node, std::size_t output, Type& type) {
  constexpr std::size_t kStateRank = 3;
  const bool state = node.op == "aten::lstm.input" && output > 0;
  if (!state || type.sizes.size() != kStateRank + 1 || type.sizes[1] != 1) return;
  type.sizes.erase(type.sizes.begin() + 1);
  type.strides.erase(type.strides.begin() + 1);
}

}  // namespace

std::string place_of(const Importer& importer, const ProgramNode& node) {
  std::string place = "node '" + node.name + "' (" + node.op + ")";
  if (node.source != kNone)
    place += ", " + importer.program.sources[static_cast<std::size_t>(node.source)];
  return place;
}

void refuse_node(const Importer& importer, const ProgramNode& node, std::string what,
                 std::string hint) {
  throw Error(ErrorKind::unsupported, std::move(what), place_of(importer, node), std::move(hint));
}

ValueId add_named_value(Importer& importer, const std::string& name, Type type) {
  // Names of inlined subgraphs may repeat outer ones.
  std::string unique = name;
  for (int i = 1; !importer.names.insert(unique).second; ++i)
    unique = name + "_" + std::to_string(i);
  return importer.graph.add_value({.name = std::move(unique), .type = std::move(type)});
}

std::vector<ValueId> add_outputs(Importer& importer, Scope& scope, const ProgramNode& node) {
  std::vector<ValueId> outputs;
  for (const std::string& name : node.outputs) {
    if (name.empty()) {
      outputs.push_back(kNone);
      continue;
    }
    ValueId id = kNone;
    if (const auto tensor = scope.graph.tensors.find(name); tensor != scope.graph.tensors.end()) {
      Type type = tensor_type(importer, tensor->second, place_of(importer, node));
      repair_states(node, outputs.size(), type);
      id = add_named_value(importer, name, std::move(type));
      if (importer.graph.value(id).type.dynamic)
        importer.dynamic_dims[id] = dynamic_dimensions(importer, tensor->second);
    } else if (const auto scalar = scope.graph.scalars.find(name);
               scalar != scope.graph.scalars.end()) {
      id = add_named_value(importer, name, {.kind = scalar->second.kind});
    } else {
      throw Error(ErrorKind::bad_input, "the type of output '" + name + "' is missing",
                  place_of(importer, node));
    }
    outputs.push_back(id);
    if (!scope.values.emplace(name, Ref{id}).second) {
      throw Error(ErrorKind::bad_input, "the output '" + name + "' is defined twice",
                  place_of(importer, node));
    }
  }
  return outputs;
}

Ref add_number_node(Importer& importer, const Scope& scope, const ProgramNode& node, std::string op,
                    std::vector<Arg> args, TypeKind kind) {
  const std::string name = node.name + "_" + op.substr(op.find("::") + 2);
  const ValueId id = add_named_value(importer, name, {.kind = kind});
  importer.graph.add_node({.op = std::move(op),
                           .args = std::move(args),
                           .outputs = {id},
                           .source = node.source,
                           .guard = scope.guard,
                           .guard_when = scope.guard_when});
  return {id};
}

void import_nodes(Importer& importer, Scope& scope) {
  for (const ProgramNode& node : scope.graph.nodes) {
    try {
      if (node.op.starts_with("higher_order::")) {
        import_nested(importer, scope, node);
      } else if (!fold_known(importer, scope, node)) {
        node.op.starts_with("sym::") ? import_scalar(importer, scope, node)
                                     : import_call(importer, scope, node);
      }
    } catch (const Error& error) {
      // Arithmetic of sizes does not know where it happens.
      if (error.where() != "symbolic size") throw;
      throw Error(error.kind(), error.message(), place_of(importer, node), error.hint());
    }
  }
}

}  // namespace lowwater
