// What several rewrites need: redirecting uses and removing what is left over.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lowwater {

// Every use of value v becomes a use of replacement[v] (arguments, guards,
// outputs). Chains are followed: replacement[v] must be v, or a value that is
// defined earlier.
void replace_uses(Graph& graph, std::vector<ValueId> replacement);

// replacement[v] == v for every value.
std::vector<ValueId> no_replacement(const Graph& graph);

// Takes out the marked nodes with their outputs, and the marked values.
// Nothing that stays may use them. Ids are renumbered, order is kept:
//
//   values  x w a b      remove node 0 (-> a)      x w b
//   nodes   0->a 1->b                              0->b
void compact(Graph& graph, const std::vector<bool>& remove_nodes,
             const std::vector<bool>& remove_values);

}  // namespace lowwater
