// Where a view's elements must be, from the operator's meaning alone; private
// to verify*.cc. (Lowering takes it from what kernels returned: two sources.)
#pragma once

#include <cstddef>
#include <functional>

#include "graph/graph.h"
#include "plan/program.h"
#include "plan/verify_bytes.h"

namespace lowwater {

enum class ViewCheck : std::uint8_t { same, different, unknown };

// Does `view` see, in this order, the elements that output `index` of `node`
// is to show of an operand seen by `operand`? unknown: no rule for the operator.
ViewCheck check_view(const Node& node, std::size_t index, const TensorMeta& operand,
                     const TensorMeta& view);

// Both see the same elements of their buffer in the same row-major order.
bool same_sequence(const TensorMeta& a, const TensorMeta& b);

// Bytes from the buffer's start to the first element and past the last one.
ByteRange byte_extent(const TensorMeta& meta);

// Calls `visit` for each run of bytes without gaps, in any order. Of a tensor
// with very many runs only the first ones are visited.
void for_each_run(const TensorMeta& meta, const std::function<void(ByteRange)>& visit);

}  // namespace lowwater
