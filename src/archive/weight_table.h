// From the payload tables of an archive to a WeightTable. Internal to archive/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.h"

namespace lowwater {

// Where one payload table of a model came from.
struct PayloadTable {
  std::string path;    // of the archive, for messages
  std::string folder;  // of its records: "<root>/data/weights/"
  std::string json;
  bool constants = false;  // constants and non-persistent buffers
};

// Adds the views of `payloads` to `table`. Each must lie inside its record:
//
//   sizes [2,3], strides [3,1], offset 4   ->   elements 4 .. 9 of its storage
//
// Throws Error(bad_input) for a malformed or contradicting table,
// Error(unsupported) naming the weight for what lowwater cannot read.
void add_weights(const PayloadTable& payloads, const std::vector<Record>& records,
                 WeightTable& table);

}  // namespace lowwater
