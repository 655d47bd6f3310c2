// parse_program: the signature, the structures and the names of the whole program.
#include <algorithm>

#include "graph/import.h"
#include "graph/import_reader.h"
#include "graph/structure.h"

namespace lowwater {
namespace {

constexpr int kSchemaMajor = 8;

std::string name_of(const Json& json) { return json_text(json_member(json, "name")); }

InputSpec input_spec(const Json& json, ProgramReader& reader) {
  const auto [key, spec] = json_union(json);
  using Kind = InputSpec::Kind;
  if (key == "user_input") {
    ProgramArg arg = reader.argument(json_member(*spec, "arg"));
    if (const auto* named = std::get_if<Named>(&arg)) return {.name = named->name};
    return {.kind = Kind::constant, .constant = std::move(arg)};
  }
  if (key == "constant_input") {
    return {.kind = Kind::constant,
            .name = name_of(*spec),
            .constant = reader.argument(json_member(*spec, "value"))};
  }
  struct Row {
    const char *key, *target;
    Kind kind;
  };
  for (const Row& row : {Row{"parameter", "parameter_name", Kind::parameter},
                         Row{"buffer", "buffer_name", Kind::buffer},
                         Row{"tensor_constant", "tensor_constant_name", Kind::tensor_constant}}) {
    if (key == row.key) {
      return {.kind = row.kind,
              .name = name_of(json_member(*spec, "arg")),
              .target = json_text(json_member(*spec, row.target))};
    }
  }
  throw Error(ErrorKind::unsupported, "the program takes an input of kind '" + key + "'",
              "program JSON", "script objects and effect tokens cannot be run");
}

OutputSpec output_spec(const Json& json, ProgramReader& reader) {
  const auto [key, spec] = json_union(json);
  if (key == "user_output") return {.arg = reader.argument(json_member(*spec, "arg"))};
  struct Row {
    const char *key, *target;
    OutputKind kind;
  };
  for (const Row& row :
       {Row{"buffer_mutation", "buffer_name", OutputKind::buffer_mutation},
        Row{"parameter_mutation", "parameter_name", OutputKind::buffer_mutation},
        Row{"user_input_mutation", "user_input_name", OutputKind::input_mutation}}) {
    if (key == row.key) {
      return {.kind = row.kind,
              .arg = Named{name_of(json_member(*spec, "arg"))},
              .target = json_text(json_member(*spec, row.target))};
    }
  }
  throw Error(ErrorKind::unsupported, "the program has an output of kind '" + key + "'",
              "program JSON", "only results and changed buffers or inputs can be returned");
}

// A minimum of 2 only says that export did not specialise on 0 and 1.
SymbolRange symbol_range(const Json& json) {
  SymbolRange range{.min = INT64_MIN};
  if (const Json* min = json_optional(json, "min_val")) range.min = json_integer(*min);
  if (const Json* max = json_optional(json, "max_val")) range.max = json_integer(*max);
  if (range.min == 2) range.min = 1;
  if (range.max >= INT64_MAX - 1) range.max = INT64_MAX;
  return range;
}

void read_versions(const Json& document, ProgramDescription& description) {
  const Json& version = json_member(document, "schema_version");
  const auto part = [&](const char* key) {
    return static_cast<int>(
        std::clamp<std::int64_t>(json_integer(json_member(version, key)), -1, 1'000'000));
  };
  description.schema_major = part("major");
  description.schema_minor = part("minor");
  if (const Json* torch = json_optional(document, "torch_version"))
    description.torch_version = json_text(*torch);
  if (description.schema_major != kSchemaMajor) {
    throw Error(ErrorKind::unsupported,
                "the program is written in schema " + std::to_string(description.schema_major) +
                    "." + std::to_string(description.schema_minor) + ", lowwater reads schema " +
                    std::to_string(kSchemaMajor),
                "program JSON", "export the model with PyTorch 2.9 or newer");
  }
}

// Structure and names of the flat inputs and outputs, from the root entry.
void read_call_signature(const Json& module, ProgramDescription& description,
                         std::vector<std::string>& input_names) {
  NamedTuples named_tuples;
  if (const Json* fields = json_optional(module, "treespec_namedtuple_fields")) {
    for (const auto& [type, entry] : fields->items()) {
      named_tuples[type] = json_list(json_member(entry, "field_names"), json_text);
    }
  }
  for (const Json& entry : json_member(module, "module_call_graph")) {
    if (json_text(json_member(entry, "fqn")) != "") continue;
    const Json& signature = json_member(entry, "signature");
    std::vector<std::string> arguments;
    if (const Json* names = json_optional(signature, "forward_arg_names"))
      arguments = json_list(*names, json_text);
    description.input_structure =
        parse_structure(json_text(json_member(signature, "in_spec")), named_tuples);
    description.output_structure =
        parse_structure(json_text(json_member(signature, "out_spec")), named_tuples);
    input_names = input_paths(description.input_structure, arguments);
    description.outputs = leaf_paths(description.output_structure);
    return;
  }
  refuse_json("the call signature of the whole model is missing");
}

// The sizes at export: the recorded hint, else the expression's value.
std::int64_t example_size(const Size& size) {
  return size.expr == kNone || size.value >= 0 ? size.value : 1;
}

InputDescription describe_input(const std::string& path, const InputSpec& spec,
                                const ParsedProgram& program) {
  InputDescription input{.name = path, .is_tensor = false};
  const auto tensor = program.graph.tensors.find(spec.name);
  if (spec.kind != InputSpec::Kind::user || tensor == program.graph.tensors.end()) return input;
  input.is_tensor = true;
  input.dtype = tensor->second.dtype;
  for (const Size& size : tensor->second.sizes) {
    const bool fixed = size.expr == kNone;
    input.dims.push_back(fixed ? size.value : -1);
    input.symbols.push_back(fixed ? ""
                                  : expr_text(program.exprs[static_cast<std::size_t>(size.expr)]));
    input.example.push_back(example_size(size));
  }
  return input;
}

}  // namespace

ProgramDescription parse_program(const std::string& text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) refuse_json("not JSON");
  ProgramDescription description;
  read_versions(document, description);

  auto program = std::make_shared<ParsedProgram>();
  ProgramReader reader(*program);
  const Json& module = json_member(document, "graph_module");
  program->graph = reader.graph(json_member(module, "graph"));
  const Json& signature = json_member(module, "signature");
  program->inputs = json_list(json_member(signature, "input_specs"),
                              [&](const Json& spec) { return input_spec(spec, reader); });
  program->outputs = json_list(json_member(signature, "output_specs"),
                               [&](const Json& spec) { return output_spec(spec, reader); });
  for (const auto& [symbol, range] : json_member(document, "range_constraints").items()) {
    description.symbols[symbol] = symbol_range(range);
  }

  std::vector<std::string> names;
  read_call_signature(module, description, names);
  for (const InputSpec& spec : program->inputs) {
    if (spec.kind != InputSpec::Kind::user && spec.kind != InputSpec::Kind::constant) continue;
    if (description.inputs.size() == names.size())
      refuse_json("more inputs than the call signature has");
    description.inputs.push_back(describe_input(names[description.inputs.size()], spec, *program));
  }
  if (description.inputs.size() != names.size())
    refuse_json("fewer inputs than the call signature has");
  const auto user_outputs =
      std::count_if(program->outputs.begin(), program->outputs.end(),
                    [](const OutputSpec& spec) { return spec.kind == OutputKind::user; });
  if (static_cast<std::size_t>(user_outputs) != description.outputs.size()) {
    refuse_json("the number of outputs differs from the call signature");
  }
  description.parsed = std::move(program);
  return description;
}

}  // namespace lowwater
