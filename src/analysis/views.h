// View arithmetic: what strides and offsets views have, without running them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/step.h"

namespace lowwater {

// The strides under which `meta` can be seen as `sizes` (same number of
// elements) without a copy; nullopt if a copy is needed.
//
//   [2,3,4] with strides (12,4,1)  seen as [6,4]: (4,1)
//   [2,3,4] with strides (4,8,1)   seen as [6,4]: none, 2 and 3 do not merge
std::optional<std::vector<std::int64_t>> view_strides(const TensorMeta& meta,
                                                      const std::vector<std::int64_t>& sizes);

// No two indices share an element and there are no gaps, in whatever order.
bool is_dense(const TensorMeta& meta);

}  // namespace lowwater
