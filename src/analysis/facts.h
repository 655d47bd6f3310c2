// Facts about a graph run in its own order, uncut: each node's record, where
// each value lives, how long. Nothing here changes the graph.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/step.h"
#include "graph/graph.h"

namespace lowwater {

// A storage of the unplanned run: its owner is an input, a weight storage or
// the node that allocated it. Values that alias share one (the alias group).
using StorageId = std::int32_t;

struct Storage {
  enum class Owner : std::uint8_t { input, weight, node };
  Owner owner = Owner::node;
  std::int32_t index = 0;  // flat input position, StorageIndex, or NodeId
  Bytes size = 0;
  std::vector<ValueId> values;  // the alias group, in order of definition
};

struct ValueFact {
  StorageId storage = kNone;  // kNone: a scalar or absent value
  TensorMeta meta;            // real strides and offset
};

struct Facts {
  std::vector<const StepRecord*> nodes;  // by NodeId; owned by the provider
  std::vector<StepSpec> specs;           // by NodeId
  std::vector<ValueFact> values;         // by ValueId
  std::vector<Storage> storages;
  Basis basis = Basis::measured;  // the weakest among the nodes
};

// Called with (done, total) nodes; returning false stops with Error(interrupted).
using Progress = std::function<bool(int, int)>;

// Walks the graph, asking `costs` for each node on the real strides of what
// comes before it. Sizes that a record contradicts (the kernel returned other
// sizes than the archive says, for a value that is not dynamic) throw
// Error(unsupported) naming the node.
Facts collect_facts(const Graph& graph, const WeightTable& weights, CostProvider& costs,
                    const Progress& progress = {});

// The spec of one node given its operands' facts; used by collect_facts and by
// lowering, which asks for other operand layouts and cut sizes. Storages are
// moved so that equal work has equal keys: each starts at the last multiple of
// 512 bytes at or before its first operand (the alignment class stays) and ends
// where its last operand ends. Example, two f32 views of one storage:
//
//   real        [........1024|..a.....|..b.....|........]   a at 1040, b at 1544
//   normalised  [..a.....|..b.....]                         a at 16,   b at 520
StepSpec make_spec(const Graph& graph, const Node& node, const std::vector<ValueFact>& values);

// The values behind StepSpec::tensors: tensor operands without repeats, in
// argument order. Absent tensors are left out (None in the spec).
std::vector<ValueId> tensor_operands(const Graph& graph, const Node& node,
                                     const std::vector<ValueFact>& values);

// "sym::add": arithmetic on run-time numbers. No tensor, no storage, no record
// worth asking for.
bool is_scalar_op(std::string_view op);

// First and last use of a storage in node order. An input or weight begins at
// -1; what is part of an output ends at nodes.size().
struct LiveRange {
  NodeId begin = 0, end = 0;
};
std::vector<LiveRange> live_ranges(const Graph& graph, const Facts& facts);

// Live bytes while each node runs, temporaries included: the memory of an eager
// run under inference_mode that frees every value at its last use. Inputs and
// weights are not counted here.
struct Footprint {
  std::vector<Bytes> at_node;  // by NodeId: peak while the node runs
  Bytes peak = 0;
  NodeId peak_node = kNone;
};
Footprint eager_footprint(const Graph& graph, const Facts& facts);

// Nodes that depend on constants only (weights that nothing mutates, no random
// operator, no data-dependent size): they can run once, when a session opens.
// `weights` tells which other weights live in a mutated storage.
std::vector<bool> constant_nodes(const Graph& graph, const SchemaTable& schemas,
                                 const WeightTable* weights = nullptr);

}  // namespace lowwater
