// The program JSON as plain structs, checked: made once by parse_program, read
// by every import_graph. Private to import*.cc.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/srepr.h"

namespace lowwater {

struct ProgramGraph;

// What may stand as an argument. Names refer to values of the same graph.
struct Named {
  std::string name;
};
struct NamedList {
  std::vector<std::string> names;
};  // "" is None
using NamedOrNumber = std::variant<Named, Number>;
struct NumberList {
  std::vector<NamedOrNumber> items;
};  // as_sym_ints and the like
struct Subgraph {
  std::shared_ptr<const ProgramGraph> graph;
};                    // of a higher-order operator
struct AnyDevice {};  // which one does not matter
struct NotUnderstood {
  std::string kind;
};  // "as_custom_obj": an error once it is used

using ProgramArg =
    std::variant<std::monostate, Named, NamedList, NumberList, Subgraph, AnyDevice, NotUnderstood,
                 bool, std::int64_t, double, std::complex<double>, std::string, DType, MemoryFormat,
                 Layout, std::vector<bool>, std::vector<std::int64_t>, std::vector<double>>;

// A size or stride: a number, or an expression over symbols.
struct Size {
  std::int64_t value = 0;     // the number; of an expression the value at export, -1 if unknown
  std::int32_t expr = kNone;  // index into ParsedProgram::exprs
};

struct ProgramTensor {
  DType dtype = DType::f32;
  std::vector<Size> sizes, strides;
};

// A number that the program computes from sizes or data.
struct ProgramScalar {
  TypeKind kind = TypeKind::integer;
  std::variant<Number, std::int32_t> value;  // known, or an index into ParsedProgram::exprs
  std::optional<std::int64_t> hint;
};

struct ProgramNode {
  std::string op;    // "aten::add.Tensor", "sym::mul", "higher_order::cond"
  std::string name;  // for messages
  std::vector<std::pair<std::string, ProgramArg>>
      args;                          // names are empty for higher-order operators
  std::vector<std::string> outputs;  // lists flattened; "" is None
  SourceId source = kNone;
};

struct ProgramGraph {
  std::vector<ProgramArg> inputs, outputs;
  std::vector<ProgramNode> nodes;
  std::unordered_map<std::string, ProgramTensor> tensors;
  std::unordered_map<std::string, ProgramScalar> scalars;
};

struct InputSpec {
  enum class Kind : std::uint8_t { user, constant, parameter, buffer, tensor_constant };
  Kind kind = Kind::user;
  std::string name;     // of the value in the graph
  std::string target;   // name of the weight
  ProgramArg constant;  // constant inputs
};

struct OutputSpec {
  OutputKind kind = OutputKind::user;
  ProgramArg arg;
  std::string target;  // name of the buffer, or of the input's value in the graph
};

struct ParsedProgram {
  ProgramGraph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<Expr> exprs;
  std::vector<std::string> sources;
};

// From metadata to "model.py:42 in forward (layer1.0.conv1)": the innermost
// stack frame outside PyTorch itself. Empty if nothing is known.
std::string source_line(const std::string& stack_trace, const std::string& nn_module_stack);

// "torch.ops.aten.add.Tensor" -> "aten::add.Tensor", "_operator.mul" -> "sym::mul".
std::string operator_name(const std::string& target);

// Leaves out assertions, and the numbers that only they read.
void drop_assertions(ProgramGraph& graph);

}  // namespace lowwater
