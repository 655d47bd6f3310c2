// The state of one import and its steps, in the order of the files:
//
//   import_types.cc    sizes, upper bounds of data-dependent sizes
//   import_args.cc     program arguments -> Arg, by the schema
//   import_nodes.cc    calls and computed numbers
//   import_nested.cc   higher-order operators: inlined wrappers and branches
//   import_checks.cc   refuses programs exported in training mode
//   import.cc          inputs, weights, outputs; the whole
//
// Private to import*.cc.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/import.h"
#include "graph/import_program.h"
#include "lowwater/error.h"

namespace lowwater {

struct Importer {
  const ProgramDescription& description;
  const ParsedProgram& program;
  const WeightTable& weights;
  const SchemaTable& schemas;
  Graph graph;
  Bindings symbols;                          // known from the inputs' sizes
  std::map<std::string, Interval64> ranges;  // of the others, narrowed as nodes are met
  std::unordered_set<std::string> names;     // of values, taken
  std::unordered_map<ValueId, std::vector<bool>> dynamic_dims;  // of dynamic values
};

// One graph or subgraph being imported: what its names stand for.
struct Scope {
  const ProgramGraph& graph;
  std::unordered_map<std::string, Arg> values;  // Ref, number, or None
  ValueId guard = kNone;                        // see Node::guard
  bool guard_when = true;
};

// "node 'conv2d_3' (aten::conv2d), model.py:42 in forward (layer1)"
std::string place_of(const Importer& importer, const ProgramNode& node);
[[noreturn]] void refuse_node(const Importer& importer, const ProgramNode& node, std::string what,
                              std::string hint = {});

// import_types.cc
Type tensor_type(const Importer& importer, const ProgramTensor& tensor, const std::string& place);
std::vector<bool> dynamic_dimensions(const Importer& importer, const ProgramTensor& tensor);
// Narrows the ranges of data-dependent symbols that `node` introduces. `args`
// are those of `schema`.
void bound_symbols(Importer& importer, const Scope& scope, const ProgramNode& node,
                   const Schema& schema, const std::vector<Arg>& args);
std::optional<Number> known_number(const Importer& importer, const ProgramScalar& scalar);
Arg number_arg(const Number& number);

// import_args.cc
const Arg& lookup(const Importer& importer, const Scope& scope, const ProgramNode& node,
                  const std::string& name);
Arg convert_arg(const Importer& importer, const Scope& scope, const ProgramNode& node,
                const SchemaArg& expected, const ProgramArg& arg);
// Complete, in schema order.
std::vector<Arg> convert_args(const Importer& importer, const Scope& scope, const ProgramNode& node,
                              const Schema& schema);
// Without a schema: lists flattened.
std::vector<Arg> plain_args(const Importer& importer, const Scope& scope, const ProgramNode& node,
                            const ProgramArg& arg);

// import_nodes.cc
void import_nodes(Importer& importer, Scope& scope);
// Adds a value for each output name of `node` and binds the name to it.
std::vector<ValueId> add_outputs(Importer& importer, Scope& scope, const ProgramNode& node);
ValueId add_named_value(Importer& importer, const std::string& name, Type type);
// A node with one number as its output.
Ref add_number_node(Importer& importer, const Scope& scope, const ProgramNode& node, std::string op,
                    std::vector<Arg> args, TypeKind kind);

// import_nested.cc: `node` is a higher-order operator.
void import_nested(Importer& importer, Scope& scope, const ProgramNode& node);

// import_checks.cc
void check_inference_mode(const Importer& importer, const ProgramNode& node, const Schema& schema,
                          const std::vector<Arg>& args);
// Dropout outside training returns its operand itself, in place or not.
std::optional<Ref> passes_through(const ProgramNode& node, const std::vector<Arg>& args);

}  // namespace lowwater
