// Reads the pickle of a torch.save file without executing anything.
//
// A pickle is a program for a small stack machine. Only the instructions that
// torch.save needs for tensors in dictionaries, lists and tuples are known, and
// only the names below can be called: each call makes a plain description.
//
//   torch._utils._rebuild_tensor_v2 / _v3, _rebuild_parameter     a tensor
//   collections.OrderedDict                                       a dictionary
//   torch.FloatStorage ...                                        an element type
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace lowwater {

// A view of a storage that is a record of its own ("data/<key>").
struct PickledTensor {
  std::string name;  // "encoder.0.weight", "" for a bare tensor
  std::string key;
  DType dtype = DType::f32;
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> sizes, strides;
};

// The tensors in the order of the file; other values are passed over. Throws
// Error(bad_input) naming `where` and whatever name or instruction is not known.
std::vector<PickledTensor> read_pickled_tensors(std::span<const std::byte> pickle,
                                                const std::string& where);

}  // namespace lowwater
