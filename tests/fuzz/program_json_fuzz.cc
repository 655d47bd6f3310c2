// Any text as a program: refused with an Error, or imported to a graph that lints.
// The weights and the operators are those that the seeds use.
#include <array>
#include <cstdlib>

#include "graph/import.h"
#include "lowwater/error.h"

using namespace lowwater;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

SchemaArg argument(const char* name, SchemaType type) { return {.name = name, .type = type}; }

SchemaTable make_schemas() {
  SchemaTable table;
  const SchemaArg self = argument("self", SchemaType::tensor),
                  other = argument("other", SchemaType::tensor);
  SchemaArg alpha = argument("alpha", SchemaType::scalar), written = self;
  alpha.kwarg_only = alpha.has_default = true;
  alpha.default_value = std::int64_t{1};
  written.alias = "a";
  written.is_write = true;
  const auto add = [&](const char* name, std::vector<SchemaArg> args) {
    table.schemas[name] = {.name = name, .args = std::move(args), .returns = {{}}};
  };
  for (const char* name :
       {"aten::relu", "aten::sin", "aten::cos", "aten::nonzero", "aten::item", "aten::clone"})
    add(name, {self});
  add("aten::add.Tensor", {self, other, alpha});
  add("aten::mul.Tensor", {self, other});
  add("aten::add_.Tensor", {written, other, alpha});
  table.schemas["aten::add_.Tensor"].returns[0] = {.alias = "a", .is_write = true};
  add("aten::view", {self, argument("size", SchemaType::integer_list)});
  add("aten::gt.Scalar", {self, argument("other", SchemaType::scalar)});
  add("aten::sym_size.int", {self, argument("dim", SchemaType::integer)});
  add("aten::index.Tensor", {self, argument("indices", SchemaType::optional_tensor_list)});
  add("aten::split.Tensor",
      {self, argument("split_size", SchemaType::integer), argument("dim", SchemaType::integer)});
  return table;
}

WeightTable make_weights() {
  WeightTable table;
  for (const char* name : {"weight", "count"}) {
    table.by_name[name] = static_cast<WeightId>(table.weights.size());
    table.weights.push_back({.name = name, .storage = 0, .sizes = {2, 2}, .strides = {2, 1}});
  }
  table.storages.push_back({.record = 0, .size = 16});
  return table;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SchemaTable schemas = make_schemas();
  static const WeightTable weights = make_weights();
  try {
    const ProgramDescription program = parse_program({reinterpret_cast<const char*>(data), size});
    const Graph graph = import_graph(program, weights, schemas, {});
    require(lint(graph).empty());
    require(graph.inputs.size() == program.inputs.size());
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::unsupported);
  }
  return 0;
}
