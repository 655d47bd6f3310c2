// The functional form of operators that write; private to functionalise*.cc.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "graph/schema.h"

namespace lowwater {

// x_(x, ...) -> x(x, ...) with the same arguments, one new tensor as its result.
// nullptr if there is none: an operator of another library, or one that writes
// several operands.
const Schema* functional_twin(const Schema& schema, const SchemaTable& schemas);

// The element type that the twin gives where it differs from that of the
// written operand: x_ computes in a common type and converts back.
//   half.add_(float)  computes f32        float.eq_(float)  computes bool
DType twin_dtype(const Graph& graph, const Node& node, const Schema& twin);

// unsqueeze_, resize_, set_ ...: change what the tensor is, not its elements.
bool changes_metadata(const Schema& schema, const SchemaTable& schemas);

}  // namespace lowwater
