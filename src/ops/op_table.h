// THE operator table: one row per operator, what a planner may know about it.
// An operator without a row runs whole and aliases what its schema allows:
// correct, merely not improved. Rows live in op_table.cc, grouped by families
// whose members follow the same rules. docs/operators.md prints the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lowwater {

// Half-open interval of indices in one dimension.
struct Interval {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};
// One interval per dimension: the part of a value that a tile owns or needs.
using Box = std::vector<Interval>;

// Which part of operand `arg` is needed to compute `box` of output `output`.
// nullopt: this node cannot be cut that way (a barrier for the loop).
using RegionRule = std::optional<Box> (*)(const Graph& graph, const Node& node, int output,
                                          const Box& box, int arg);
// How the node runs on its part: the arguments (view sizes, slice bounds,
// padding per side ...) for the given output box. Crop and pad steps around it
// are the lowering's business.
struct LocalNode {
  std::string op;
  std::vector<Arg> args;
};
using LocaliseRule = std::optional<LocalNode> (*)(const Graph& graph, const Node& node, int output,
                                                  const Box& box);

// Roughly how expensive one element of the output is: orders candidates for
// recomputation before anything was measured.
enum class CostClass : std::uint8_t { free, pointwise, reduction, window, matmul, unknown };

// May output 0 be placed at the address of operand `arg`? Listed only for
// kernels that read each element before they write it at the same index.
struct OpRow {
  std::string_view op;
  CostClass cost = CostClass::unknown;
  // Bit i: the output may take the address of argument i (same dtype, sizes
  // and strides, nobody reads the operand afterwards, and no other operand of
  // the call is another view of the same storage).
  std::uint32_t share_mask = 0;
  RegionRule region = nullptr;  // filled by the tiling issue; nullptr: barrier
  LocaliseRule localise = nullptr;
  std::string_view family;  // "pointwise, one operand": for documentation
};

// nullptr if the operator has no row.
const OpRow* find_op(std::string_view op);

// All rows, for documentation and tests.
const std::vector<OpRow>& op_table();

}  // namespace lowwater
