// How far two tensors are apart.
#pragma once

#include "lowwater/session.h"

namespace lowwater::cli {

struct Difference {
  bool same_shape = true;  // sizes and type
  bool bit_equal = true;
  double absolute = 0;  // max |a - b|; NaN against a number is infinite
  double relative = 0;  // absolute / max |b|
};

// Both in host memory.
Difference compare(const TensorView& a, const TensorView& b);

}  // namespace lowwater::cli
