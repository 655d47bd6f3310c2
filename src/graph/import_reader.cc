#include "graph/import_reader.h"

#include <array>

namespace lowwater {
namespace {

constexpr int kMaxNesting = 32;  // of subgraphs and arguments
constexpr std::size_t kMaxRank = 64;

std::string name_of(const Json& json) { return json_text(json_member(json, "name")); }

Number json_number(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json_integer(json);
  return json_real(json);
}

// {"as_name": "sym_size"} or {"as_int": 3}, {"as_float": 1.5}, {"as_bool": true}
NamedOrNumber named_or_number(const Json& json) {
  const auto [key, value] = json_union(json);
  if (key == "as_name") return Named{json_text(*value)};
  return json_number(*value);
}

ProgramArg scalar_argument(const Json& json) {
  const NamedOrNumber item = named_or_number(json);
  if (const auto* named = std::get_if<Named>(&item)) return *named;
  return std::visit([](auto number) -> ProgramArg { return number; }, std::get<Number>(item));
}

// {"as_tensor": {"name": "x"}} or {"as_none": true}
std::string optional_name(const Json& json) {
  const auto [key, value] = json_union(json);
  return key == "as_none" ? std::string() : name_of(*value);
}

DType dtype_of(const Json& json) {
  const std::int64_t code = json_integer(json);
  const auto dtype =
      code >= 0 && code < 1000 ? dtype_from_archive(static_cast<int>(code)) : std::nullopt;
  if (!dtype)
    throw Error(ErrorKind::unsupported, "unknown element type " + std::to_string(code),
                "program JSON");
  return *dtype;
}

// torch/_export/serde/schema.py numbers these from 1, unlike c10.
ProgramArg memory_format_of(const Json& json) {
  switch (json_integer(json)) {
    case 1:
      return MemoryFormat::contiguous;
    case 2:
      return MemoryFormat::channels_last;
    case 3:
      return MemoryFormat::channels_last_3d;
    case 4:
      return MemoryFormat::preserve;
    default:
      return NotUnderstood{"as_memory_format"};
  }
}

ProgramArg layout_of(const Json& json) {
  constexpr std::int64_t kStrided = 7;  // the others are sparse or mkldnn
  if (json_integer(json) == kStrided) return Layout::strided;
  return NotUnderstood{"as_layout (sparse)"};
}

using Convert = ProgramArg (*)(const Json&);
struct Row {
  std::string_view key;
  Convert convert;
};

// The members of schema.py's union Argument; as_graph needs the reader itself.
constexpr std::array<Row, 25> kArguments = {{
    {"as_none", [](const Json&) -> ProgramArg { return std::monostate(); }},
    {"as_tensor", [](const Json& json) -> ProgramArg { return Named{name_of(json)}; }},
    {"as_tensors",
     [](const Json& json) -> ProgramArg { return NamedList{json_list(json, name_of)}; }},
    {"as_optional_tensor",
     [](const Json& json) -> ProgramArg {
       std::string name = optional_name(json);
       return name.empty() ? ProgramArg() : ProgramArg(Named{std::move(name)});
     }},
    {"as_optional_tensors",
     [](const Json& json) -> ProgramArg { return NamedList{json_list(json, optional_name)}; }},
    {"as_int", [](const Json& json) -> ProgramArg { return json_integer(json); }},
    {"as_ints", [](const Json& json) -> ProgramArg { return json_list(json, json_integer); }},
    {"as_float", [](const Json& json) -> ProgramArg { return json_real(json); }},
    {"as_floats", [](const Json& json) -> ProgramArg { return json_list(json, json_real); }},
    {"as_bool", [](const Json& json) -> ProgramArg { return json_bool(json); }},
    {"as_bools", [](const Json& json) -> ProgramArg { return json_list(json, json_bool); }},
    {"as_string", [](const Json& json) -> ProgramArg { return json_text(json); }},
    {"as_complex",
     [](const Json& json) -> ProgramArg {
       return std::complex<double>(json_real(json_member(json, "real")),
                                   json_real(json_member(json, "imag")));
     }},
    {"as_sym_int", scalar_argument},
    {"as_sym_float", scalar_argument},
    {"as_sym_bool", scalar_argument},
    {"as_sym_ints",
     [](const Json& json) -> ProgramArg { return NumberList{json_list(json, named_or_number)}; }},
    {"as_sym_floats",
     [](const Json& json) -> ProgramArg { return NumberList{json_list(json, named_or_number)}; }},
    {"as_sym_bools",
     [](const Json& json) -> ProgramArg { return NumberList{json_list(json, named_or_number)}; }},
    {"as_scalar_type", [](const Json& json) -> ProgramArg { return dtype_of(json); }},
    {"as_memory_format", memory_format_of},
    {"as_layout", layout_of},
    {"as_device", [](const Json&) -> ProgramArg { return AnyDevice(); }},
    {"as_string_to_argument",
     [](const Json&) -> ProgramArg { return NotUnderstood{"a dictionary"}; }},
    {"as_nested_tensors",
     [](const Json&) -> ProgramArg { return NotUnderstood{"as_nested_tensors"}; }},
}};

// The names that an output list of a node defines, lists flattened.
void append_outputs(const ProgramArg& arg, std::vector<std::string>& names) {
  if (const auto* named = std::get_if<Named>(&arg)) {
    names.push_back(named->name);
  } else if (const auto* list = std::get_if<NamedList>(&arg)) {
    names.insert(names.end(), list->names.begin(), list->names.end());
  } else if (const auto* numbers = std::get_if<NumberList>(&arg)) {
    for (const NamedOrNumber& item : numbers->items) {
      const auto* inner = std::get_if<Named>(&item);
      names.push_back(inner ? inner->name : std::string());
    }
  } else {
    names.emplace_back();  // None, or a constant that nobody can refer to
  }
}

}  // namespace

ProgramArg ProgramReader::argument(const Json& json, int depth) {
  const auto [key, value] = json_union(json);
  if (key == "as_graph") {
    if (depth >= kMaxNesting) refuse_json("subgraphs are nested too deeply");
    return Subgraph{
        std::make_shared<const ProgramGraph>(graph(json_member(*value, "graph"), depth + 1))};
  }
  for (const Row& row : kArguments) {
    if (row.key == key) return row.convert(*value);
  }
  return NotUnderstood{key};
}

ProgramGraph ProgramReader::graph(const Json& json, int depth) {
  ProgramGraph graph;
  const auto read_argument = [&](const Json& item) { return argument(item, depth); };
  graph.inputs = json_list(json_member(json, "inputs"), read_argument);
  graph.outputs = json_list(json_member(json, "outputs"), read_argument);
  for (const auto& [name, value] : json_member(json, "tensor_values").items()) {
    graph.tensors.emplace(name, tensor(value));
  }
  constexpr std::array<std::pair<const char*, TypeKind>, 3> kScalarTables = {
      {{"sym_int_values", TypeKind::integer},
       {"sym_float_values", TypeKind::real},
       {"sym_bool_values", TypeKind::boolean}}};
  for (const auto& [table, kind] : kScalarTables) {
    const Json* values = json_optional(json, table);
    if (!values) continue;
    for (const auto& [name, value] : values->items())
      graph.scalars.emplace(name, scalar(value, kind));
  }
  graph.nodes =
      json_list(json_member(json, "nodes"), [&](const Json& item) { return node(item, depth); });
  drop_assertions(graph);
  return graph;
}

ProgramNode ProgramReader::node(const Json& json, int depth) {
  ProgramNode node;
  node.op = operator_name(json_text(json_member(json, "target")));
  for (const Json& input : json_member(json, "inputs")) {
    node.args.emplace_back(name_of(input), argument(json_member(input, "arg"), depth));
  }
  for (const Json& output : json_member(json, "outputs"))
    append_outputs(argument(output, depth), node.outputs);
  const Json* name = json_optional(json, "name");  // since schema 8.17
  node.name = name ? json_text(*name) : node.outputs.empty() ? std::string() : node.outputs.front();
  if (const Json* metadata = json_optional(json, "metadata")) node.source = source(*metadata);
  return node;
}

ProgramTensor ProgramReader::tensor(const Json& json) {
  ProgramTensor tensor;
  const auto read_size = [&](const Json& item) { return size(item); };
  tensor.dtype = dtype_of(json_member(json, "dtype"));
  tensor.sizes = json_list(json_member(json, "sizes"), read_size);
  tensor.strides = json_list(json_member(json, "strides"), read_size);
  if (tensor.sizes.size() > kMaxRank || tensor.strides.size() != tensor.sizes.size()) {
    refuse_json("a tensor with wrong strides or too many dimensions");
  }
  return tensor;
}

Size ProgramReader::size(const Json& json) {
  const auto [key, value] = json_union(json);
  if (key == "as_int") return {.value = json_integer(*value)};
  Size result{.value = -1, .expr = expression(json_text(json_member(*value, "expr_str")))};
  if (const Json* hint = json_optional(*value, "hint")) {
    if (const Json* number = json_optional(*hint, "as_int")) result.value = json_integer(*number);
  }
  return result;
}

ProgramScalar ProgramReader::scalar(const Json& json, TypeKind kind) {
  const auto [key, value] = json_union(json);
  ProgramScalar scalar{.kind = kind};
  if (key != "as_expr") {
    scalar.value = json_number(*value);
    return scalar;
  }
  scalar.value = expression(json_text(json_member(*value, "expr_str")));
  if (const Json* hint = json_optional(*value, "hint")) {
    if (const Json* number = json_optional(*hint, "as_int")) scalar.hint = json_integer(*number);
  }
  return scalar;
}

std::int32_t ProgramReader::expression(const std::string& text) {
  const auto [found, is_new] =
      exprs_.emplace(text, static_cast<std::int32_t>(program_.exprs.size()));
  if (is_new) program_.exprs.push_back(parse_srepr(text));
  return found->second;
}

SourceId ProgramReader::source(const Json& metadata) {
  const auto text = [&](const char* key) {
    const Json* value = json_optional(metadata, key);
    return value ? json_text(*value) : std::string();
  };
  const std::string line = source_line(text("stack_trace"), text("nn_module_stack"));
  if (line.empty()) return kNone;
  const auto [found, is_new] =
      sources_.emplace(line, static_cast<SourceId>(program_.sources.size()));
  if (is_new) program_.sources.push_back(line);
  return found->second;
}

}  // namespace lowwater
