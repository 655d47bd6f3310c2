// NumPy's .npy: "\x93NUMPY", version, length, a Python dictionary as text, raw elements.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "data/data.h"

namespace lowwater {

struct NpyHeader {
  DType dtype = DType::f32;
  bool swapped = false;  // big-endian
  bool fortran = false;
  std::vector<std::int64_t> sizes;
  std::int64_t bytes = 0;  // of the elements
};

// "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
NpyHeader parse_npy_header(std::string_view text, const std::string& where);

// A whole file in memory.
HostTensor read_npy(std::span<const std::byte> file, const std::string& where);

}  // namespace lowwater
