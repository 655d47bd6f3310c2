// Which sizes the inputs have: from the options when a session opens, from the
// tensors when it runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/import.h"
#include "lowwater/session.h"

namespace lowwater {

// Throws Error(bad_input) for a name that no input has and for sizes that
// nothing binds; a symbol bound by one input holds for all.
InputShapes shapes_from_options(const ProgramDescription& program,
                                const std::map<std::string, std::vector<std::int64_t>>& given);

// Checks number, type, rank and fixed sizes of the views. Throws Error(bad_input)
// with the input's name, what the model takes and what it got.
InputShapes shapes_from_views(const ProgramDescription& program,
                              const std::vector<TensorView>& views);

std::vector<IoDescription> describe_inputs(const ProgramDescription& program);
// Names only, as far as the archive tells; types are filled in from a graph.
std::vector<IoDescription> describe_outputs(const ProgramDescription& program);
void fill_output_types(std::vector<IoDescription>& outputs, const Graph& graph);

}  // namespace lowwater
