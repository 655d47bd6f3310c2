#include "ops/op_table.h"

#include <unordered_map>

namespace lowwater {
namespace {

using enum CostClass;

// share_mask bits.
constexpr std::uint32_t kFirst = 1U << 0;
constexpr std::uint32_t kSecond = 1U << 1;
constexpr std::uint32_t kBoth = kFirst | kSecond;

// Sharing was checked on the CPU and by reading the kernels' structure: an
// elementwise kernel reads index i of its operands, then writes index i.
// tests/exec checks every row with a bit against PyTorch.
std::vector<OpRow> make_table() {
  return {
      // Pointwise, one operand.
      {"aten::relu", pointwise, kFirst},
  };
}

}  // namespace

const std::vector<OpRow>& op_table() {
  static const std::vector<OpRow> table = make_table();
  return table;
}

const OpRow* find_op(std::string_view op) {
  static const std::unordered_map<std::string_view, const OpRow*> by_name = [] {
    std::unordered_map<std::string_view, const OpRow*> map;
    for (const OpRow& row : op_table()) map.emplace(row.op, &row);
    return map;
  }();
  const auto found = by_name.find(op);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace lowwater
