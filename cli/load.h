// From the files of an item to the tensors of a run.
#pragma once

#include <vector>

#include "data/data.h"
#include "items.h"
#include "lowwater/session.h"

namespace lowwater::cli {

// The item's tensors by flat input (empty for inputs that are no tensors).
// Images become the input's floating type; other files must match. A file with
// several tensors gives the one named like the input. Throws Error(bad_input).
std::vector<HostTensor> load_item(const Item& item, const std::vector<IoDescription>& inputs,
                                  const ImageOptions& image);

// Views of `tensors` for Session::run; valid while they live.
std::vector<TensorView> views_of(const std::vector<HostTensor>& tensors);

// A row-major copy of an output.
HostTensor to_host_tensor(const TensorView& view);

// Random inputs for a model: normal floats, zeros for integers, true for
// booleans. Symbolic sizes come from `shapes`; Error(bad_input) names the rest.
std::vector<HostTensor> random_inputs(const std::vector<IoDescription>& inputs,
                                      const Options& options);

}  // namespace lowwater::cli
