// Views: which outputs share the elements of an operand, and how the operand is
// computed anew once the view was overwritten; private to functionalise*.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/schema.h"

namespace lowwater {

// The value whose elements output `index` of `node` shares, kNone if the output
// is a new tensor. Where a schema says "maybe" (reshape, contiguous, to), the
// exported strides decide. `schema` may be nullptr: nothing is shared.
ValueId viewed_value(const Graph& graph, const Node& node, const Schema* schema, std::size_t index);

// The schema's return that output `index` of a node belongs to (list outputs
// are flattened), nullptr if there is none.
const SchemaReturn* return_of(const Schema& schema, std::size_t index);

// True if two indices of a tensor of this type may name the same element.
bool may_overlap(const Type& type);

// A call without outputs yet.
struct Call {
  std::string op;
  std::vector<Arg> args;
};

// Output `index` of `view` was a view of `parent`, whose elements `parent_now`
// holds, and is overwritten by `written`: the call that computes the parent.
//   slice(p, 1, 0, 4)  ->  slice_scatter(parent_now, written, 1, 0, 4)
//   permute(p, [1,2,0])  ->  permute(written, [2,0,1])
// nullopt if no operator does that.
std::optional<Call> invert_view(const Graph& graph, const Node& view, std::size_t index,
                                ValueId parent, ValueId parent_now, ValueId written);

}  // namespace lowwater
