// The work list of `run`: which files are the inputs of which item.
#pragma once

#include <string>
#include <vector>

#include "lowwater/session.h"

namespace lowwater::cli {

// One run of the network: a file per tensor input, in the model's order.
struct Item {
  std::string stem;                // "scan_12" of scans/scan_12.npy: names the outputs
  std::vector<std::string> files;  // by flat input; empty for inputs that are no tensors
};

// `arguments` as typed after --input: [NAME=]PATH|GLOB|DIR. One file per input
// is one item; several files pair by stem; items come in natural order
// (a2 before a10). Throws Error(bad_input) naming what does not match: an
// unknown or missing input, no such file, unmatched or colliding stems.
std::vector<Item> list_items(const std::vector<std::string>& arguments,
                             const std::vector<IoDescription>& inputs);

// a2 < a10: runs of digits compare as numbers.
bool natural_less(const std::string& a, const std::string& b);

}  // namespace lowwater::cli
