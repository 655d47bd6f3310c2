// The textual form of a graph: prints and parses, so that tests are text in,
// text out. parse_graph(print_graph(g)) equals g. Grammar in docs/ir.md.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace lowwater {

std::string print_graph(const Graph& graph);
std::string print_node(const Graph& graph, NodeId node);
std::string print_arg(const Graph& graph, const Arg& arg);
std::string print_type(const Type& type);      // "f32[1,3,8,8]"; strides only if not contiguous

// Throws Error(bad_input) with the line and column of the first mistake.
Graph parse_graph(std::string_view text);

}  // namespace lowwater
