// The nesting of inputs and outputs, from the pytree text of the archive.
//
//   [1, {"type": "builtins.dict", "context": "[\"out\", \"past\"]", "children_spec": [leaf,
//   {"type": "builtins.list", ...}]}]
//
// Type names do not matter, shape does: what carries field names (dicts, named
// tuples, dataclasses, library outputs) becomes a dict, all else a list or tuple.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lowwater {

// Field names of named tuples, by the type name in the context.
using NamedTuples = std::map<std::string, std::vector<std::string>>;

// Leaves are numbered from 0 in order. Throws Error(bad_input).
Structure parse_structure(std::string_view text, const NamedTuples& named_tuples);

int count_leaves(const Structure& structure);

// The dotted path of each leaf below `structure`: "0", "logits", "past.0"; ""
// for a bare leaf. Repeated paths get a suffix.
std::vector<std::string> leaf_paths(const Structure& structure);

// The same for the inputs, a tuple (args, kwargs): positional arguments take
// their names from `argument_names` ("x", "batch.image"); where a name is
// missing, and for the members of *args, "args.0".
std::vector<std::string> input_paths(const Structure& structure,
                                     const std::vector<std::string>& argument_names);

}  // namespace lowwater
