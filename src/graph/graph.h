// The imported network: a pure data-flow graph with concrete sizes.
//
// Ownership: a Graph owns everything by value; ids are indices into its
// vectors and stay valid until a rewrite compacts the graph. Nodes are in an
// order in which they can run.
//
//   graph(%x: f32[1,3,224,224], %w: weight 0 f32[64,3,7,7]):
//     %y: f32[1,64,112,112] = aten::conv2d(%x, %w, None, [2,2], [3,3], [1,1], 1)
//     %z: f32[1,64,112,112] = aten::relu(%y)
//     return (%z)
//
// Pure: no operator writes its operands. What mutates in the model is written
// as a final output (OutputKind::buffer_mutation, input_mutation).
// Data-dependent sizes: `dynamic` marks a value whose `sizes` are upper bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "graph/arg.h"

namespace lowwater {

using ValueId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

enum class TypeKind : std::uint8_t { tensor, integer, real, boolean };

struct Type {
  TypeKind kind = TypeKind::tensor;
  DType dtype = DType::f32;  // tensors only, like what follows
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in elements, as exported: a hint, kernels decide
  bool dynamic = false;               // sizes are upper bounds, known only at run time

  [[nodiscard]] std::int64_t numel() const;
  [[nodiscard]] Bytes bytes() const;  // numel * element size: of a dense tensor
  friend bool operator==(const Type&, const Type&) = default;
};

// Where a value comes from.
enum class ValueKind : std::uint8_t { input, weight, node };

struct Value {
  std::string name;  // unique in the graph, without the "%"
  ValueKind kind = ValueKind::node;
  Type type;
  NodeId producer = kNone;  // kind == node
  std::int32_t index = 0;   // input: its flat position; weight: its WeightId; node: output number
};

// Which line of the model a node came from: "model.py:42 in forward (layer1.0.conv1)".
using SourceId = std::int32_t;

// An output of a node may be kNone: the operator returns it, nobody sees it.
struct Node {
  std::string op;                // "aten::conv2d", "aten::add.Tensor", "sym::mul"
  std::vector<Arg> args;         // complete, in the order of the schema
  std::vector<ValueId> outputs;  // list outputs are flattened
  SourceId source = kNone;
  // A node inlined from a branch of torch.cond runs only if `guard` (a boolean
  // value) equals `guard_when`. kNone: it always runs. Guards of outer branches
  // are folded into `guard` with sym::and.
  ValueId guard = kNone;
  bool guard_when = true;
  // A mutating operator that could not be made functional: nothing may be
  // moved across it, and it may write operands.
  bool barrier = false;
};

enum class OutputKind : std::uint8_t { user, buffer_mutation, input_mutation };

struct Output {
  OutputKind kind = OutputKind::user;
  Arg value;                    // Ref, or a constant for user outputs (int, None ...)
  std::int32_t target = kNone;  // mutation: WeightId or flat input position
};

struct Input {
  std::string name;       // as a user names it: "x", "batch.image", "args.0"
  ValueId value = kNone;  // kNone: a constant input (an int, None)
  Arg constant;
};

// The nesting of inputs or outputs: a leaf, or a container of children.
// {"out": y, "list": [a, b]} -> dict(out: leaf 0, list: list(leaf 1, leaf 2))
struct Structure {
  enum class Kind : std::uint8_t { leaf, list, tuple, dict };
  Kind kind = Kind::leaf;
  std::int32_t leaf = 0;          // position among the flat user inputs or outputs
  std::vector<std::string> keys;  // dict only, parallel to children
  std::vector<Structure> children;
  friend bool operator==(const Structure&, const Structure&) = default;
};

// What a plain call gives: inputs ((0, 1, ...), {}); outputs 0, or (0, 1, ...) if not one.
Structure flat_input_structure(std::size_t count);
Structure flat_output_structure(std::size_t count);

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<Input> inputs;    // user inputs, flat
  std::vector<Output> outputs;  // user outputs, flat, in order; mutations after them
  std::vector<std::string> sources;
  Structure input_structure;  // a tuple (args, kwargs)
  Structure output_structure;

  [[nodiscard]] const Value& value(ValueId id) const {
    return values[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  // "model.py:42 in forward (layer1.0.conv1)", or the operator's name.
  [[nodiscard]] std::string where(NodeId id) const;

  ValueId add_value(Value value);
  // Appends a node; sets the producers of its outputs.
  NodeId add_node(Node node);
};

// Row-major strides of `sizes`; a size of 0 counts as 1, as in PyTorch.
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes);

// The first difference between two graphs, empty if they are equal up to the
// numbering of values and sources (values correspond by name).
std::string first_difference(const Graph& a, const Graph& b);

// Every invariant above. Returns one sentence per violation, empty if sound.
std::vector<std::string> lint(const Graph& graph);

// The values that each node reads, without repeats, in argument order (the guard last).
std::vector<ValueId> node_inputs(const Node& node);

// For each value the nodes that read it, ascending; outputs are not counted.
std::vector<std::vector<NodeId>> value_users(const Graph& graph);

}  // namespace lowwater
