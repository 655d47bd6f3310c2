// The textual form of a graph: prints and parses, so that tests are text in,
// text out. For every sound graph first_difference(g, parse_graph(print_graph(g)))
// is empty, and printing the parsed graph gives the same text. Grammar in docs/ir.md.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace lowwater {

std::string print_graph(const Graph& graph);
std::string print_node(const Graph& graph, NodeId node);
std::string print_arg(const Graph& graph, const Arg& arg);
std::string print_type(const Type& type);  // "f32[1,3,8,8]"; strides only if not contiguous

// Throws Error(bad_input) with the line and column of the first mistake. The
// result is well-formed (names bound, ids in range), not linted: it may hold
// operators that write, as imported graphs do before they are functionalised.
Graph parse_graph(std::string_view text);

}  // namespace lowwater
