// import_graph: inputs and weights, nodes, outputs; then purity and lint.
#include "graph/import.h"

#include <algorithm>

#include "graph/functionalise.h"
#include "graph/import_builder.h"
#include "graph/import_symbols.h"

namespace lowwater {
namespace {

// A constant of the signature: an integer, a text, None ... never a value.
Arg constant_arg(const Importer& importer, const Scope& scope, const ProgramArg& arg,
                 const std::string& what) {
  ProgramNode signature{.op = "signature", .name = what};
  const std::vector<Arg> items = plain_args(importer, scope, signature, arg);
  if (items.size() != 1) refuse_node(importer, signature, "a list stands for one input or output");
  return items[0];
}

void add_user_input(Importer& importer, Scope& scope, const InputSpec& spec) {
  const auto flat = static_cast<std::int32_t>(importer.graph.inputs.size());
  Input input{.name = importer.description.inputs[static_cast<std::size_t>(flat)].name};
  if (spec.kind == InputSpec::Kind::constant) {
    input.constant = constant_arg(importer, scope, spec.constant, input.name);
    scope.values.emplace(spec.name, input.constant);
  } else if (const auto tensor = scope.graph.tensors.find(spec.name);
             tensor != scope.graph.tensors.end()) {
    input.value = add_named_value(
        importer, spec.name, tensor_type(importer, tensor->second, "input '" + input.name + "'"));
    Value& value = importer.graph.values.back();
    value.kind = ValueKind::input;
    value.index = flat;
    scope.values.emplace(spec.name, Ref{input.value});
  } else if (const auto scalar = scope.graph.scalars.find(spec.name);
             scalar != scope.graph.scalars.end()) {
    const auto known = known_number(importer, scalar->second);
    if (!known)
      throw Error(ErrorKind::unsupported, "a number whose value at export is unknown",
                  "input '" + input.name + "'");
    input.constant = number_arg(*known);
    scope.values.emplace(spec.name, input.constant);
  } else {
    throw Error(ErrorKind::bad_input, "its type is missing in the program",
                "input '" + input.name + "'");
  }
  importer.graph.inputs.push_back(std::move(input));
}

void add_weight(Importer& importer, Scope& scope, const InputSpec& spec) {
  const std::string place = "weight '" + spec.target + "'";
  const auto id = importer.weights.find(spec.target);
  if (!id)
    throw Error(ErrorKind::bad_input, "it is missing in the archive", place,
                "save the model again");
  const Weight& weight = importer.weights.weights[static_cast<std::size_t>(*id)];
  const auto tensor = scope.graph.tensors.find(spec.name);
  if (tensor == scope.graph.tensors.end())
    throw Error(ErrorKind::bad_input, "its type is missing in the program", place);
  Type type = tensor_type(importer, tensor->second, place);
  if (type.dtype != weight.dtype || type.sizes != weight.sizes) {
    throw Error(ErrorKind::bad_input,
                "the archive holds it with another type or size than the program reads", place);
  }
  type.strides = weight.strides;
  const ValueId value = add_named_value(importer, spec.name, std::move(type));
  importer.graph.values.back().kind = ValueKind::weight;
  importer.graph.values.back().index = *id;
  scope.values.emplace(spec.name, Ref{value});
}

void add_inputs(Importer& importer, Scope& scope) {
  for (const InputSpec& spec : importer.program.inputs) {
    if (spec.kind == InputSpec::Kind::user || spec.kind == InputSpec::Kind::constant) {
      add_user_input(importer, scope, spec);
    } else {
      add_weight(importer, scope, spec);
    }
  }
}

// What a mutation changes: a weight, or the input that has this name in the program.
std::int32_t mutation_target(const Importer& importer, const OutputSpec& spec) {
  if (spec.kind == OutputKind::buffer_mutation) {
    if (const auto id = importer.weights.find(spec.target)) return *id;
    throw Error(ErrorKind::bad_input, "the program changes it, but the archive lacks it",
                "buffer '" + spec.target + "'");
  }
  std::int32_t flat = 0;
  for (const InputSpec& input : importer.program.inputs) {
    if (input.kind != InputSpec::Kind::user && input.kind != InputSpec::Kind::constant) continue;
    if (input.name == spec.target) return flat;
    ++flat;
  }
  throw Error(ErrorKind::bad_input, "the program changes an input that it does not have",
              "input '" + spec.target + "'");
}

void add_outputs_of_kind(Importer& importer, const Scope& scope, bool user) {
  std::size_t flat = 0;
  for (const OutputSpec& spec : importer.program.outputs) {
    if ((spec.kind == OutputKind::user) != user) continue;
    const std::string name =
        user ? "output '" + importer.description.outputs[flat++] + "'" : "'" + spec.target + "'";
    Output output{.kind = spec.kind, .value = constant_arg(importer, scope, spec.arg, name)};
    if (!user) output.target = mutation_target(importer, spec);
    importer.graph.outputs.push_back(std::move(output));
  }
}

bool mutates(const Graph& graph, const SchemaTable& schemas) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const Schema* schema = schemas.find(node.op);
    return schema && schema->is_mutable();
  });
}

}  // namespace

Graph import_graph(const ProgramDescription& description, const WeightTable& weights,
                   const SchemaTable& schemas, const InputShapes& shapes) {
  const ParsedProgram& program = *description.parsed;
  Importer importer{
      .description = description, .program = program, .weights = weights, .schemas = schemas};
  importer.symbols = bind_symbols(description, shapes);
  importer.ranges = unbound_ranges(description, importer.symbols);
  importer.graph.sources = program.sources;
  importer.graph.input_structure = description.input_structure;
  importer.graph.output_structure = description.output_structure;

  Scope scope{.graph = program.graph, .values = {}};
  add_inputs(importer, scope);
  import_nodes(importer, scope);
  add_outputs_of_kind(importer, scope, /*user=*/true);
  add_outputs_of_kind(importer, scope, /*user=*/false);

  Graph graph = std::move(importer.graph);
  if (mutates(graph, schemas)) functionalise(graph, schemas);
  if (const auto violations = lint(graph); !violations.empty()) {
    throw Error(ErrorKind::internal, "the imported graph is unsound: " + violations.front(),
                "import");
  }
  return graph;
}

}  // namespace lowwater
