// Private to liveness*.cc: what a graph's nodes do to memory, as small integers.
#pragma once

#include <vector>

#include "plan/liveness.h"

namespace lowwater {

struct NodeShape {
  struct Event {
    bool is_alloc = true;
    std::int32_t id = 0;  // counts the allocations of the node from 0
  };
  struct Alloc {
    Bytes size = 0;
    bool temporary = true;  // no output lives in it
  };
  // Where an output lives: in allocation `alloc`, in the storage of value
  // `operand`, or nowhere (a number, absent, no bytes).
  struct Out {
    ValueId value = kNone, operand = kNone;
    std::int32_t alloc = -1;
  };
  // A reference among the arguments. `takes`: output 0 may take its address, as
  // far as the operator and the two layouts go.
  struct Use {
    ValueId value = kNone;
    bool direct = false;  // in a place that the sharing rule lists
    bool takes = false;
  };
  bool runs = true;  // false: a view
  double ms = 0;
  std::vector<Use> uses;          // in argument order, with repeats
  std::vector<ValueId> operands;  // tensors, in the order of the step's spec
  ValueId guard = kNone;
  std::vector<Alloc> allocs;
  std::vector<Event> events;
  std::vector<Out> outs;
  std::int32_t shared_alloc = -1;  // the allocation that may be placed on an operand
};

struct ValueShape {
  const TensorMeta* meta = nullptr;  // nullptr: no tensor
  Bytes extent = 0, compact = 0;     // bytes as it lies, and in a copy without gaps
  bool dynamic = false;              // readers take what the kernel returned
  bool fills = false;                // starts at its buffer's begin and has no gaps
};

struct LivenessModel::Shape {
  const Graph& graph;
  const WeightTable& weights;
  const Facts& facts;
  const LowerOptions options;
  const Bytes alignment;
  std::vector<NodeShape> nodes;
  std::vector<ValueShape> values;
};

// In liveness_shape.cc.
void describe_nodes(const Graph& graph, const Facts& facts, CostProvider& costs,
                    std::vector<NodeShape>& nodes, std::vector<ValueShape>& values);

}  // namespace lowwater
