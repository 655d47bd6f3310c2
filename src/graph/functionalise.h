// Makes an imported graph pure: in-place and out= operators become functional
// ones, writes through views become scatters into their base, mutated inputs
// and buffers become final outputs.
#pragma once

#include "graph/graph.h"
#include "graph/schema.h"

namespace lowwater {

// What cannot be made functional becomes a barrier node (Node::barrier) that
// runs in order. Throws Error(unsupported) only where even that would be wrong
// (a write to a tensor whose elements overlap, e.g. expanded or as_strided).
void functionalise(Graph& graph, const SchemaTable& schemas);

}  // namespace lowwater
