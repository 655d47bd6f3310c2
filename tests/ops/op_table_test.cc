// The operator table against the schemas of the installed PyTorch (snapshot),
// and docs/operators.md against the table.
#include "ops/op_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "schemas.h"

namespace lowwater {
namespace {

TEST(OpTable, EveryRowIsAnOperatorAndStandsOnce) {
  std::set<std::string_view> seen;
  for (const OpRow& row : op_table()) {
    EXPECT_TRUE(seen.insert(row.op).second) << row.op << " stands twice";
    EXPECT_NE(snapshot_schemas().find(std::string(row.op)), nullptr)
        << row.op << " is not an operator";
    EXPECT_EQ(find_op(row.op), &row);
  }
  EXPECT_EQ(find_op("aten::no_such_operator"), nullptr);
}

TEST(OpTable, SharingIsForPureOperatorsWithTensorOperands) {
  for (const OpRow& row : op_table()) {
    if (row.share_mask == 0) continue;
    const Schema* schema = snapshot_schemas().find(std::string(row.op));
    ASSERT_NE(schema, nullptr) << row.op;
    EXPECT_FALSE(schema->is_mutable()) << row.op;
    EXPECT_TRUE(schema->returns.at(0).alias.empty()) << row.op << " may return its operand";
    for (std::size_t bit = 0; bit < 32; ++bit) {
      if ((row.share_mask >> bit & 1U) == 0) continue;
      ASSERT_LT(bit, schema->args.size()) << row.op;
      EXPECT_EQ(schema->args[bit].type, SchemaType::tensor) << row.op << " argument " << bit;
    }
  }
}

TEST(OpTable, WhatReadsNeighboursNeverShares) {
  for (const char* op : {"aten::conv2d", "aten::softmax.int", "aten::layer_norm", "aten::cat",
                         "aten::matmul", "aten::flip", "aten::roll", "aten::cumsum"}) {
    ASSERT_NE(find_op(op), nullptr) << op;
    EXPECT_EQ(find_op(op)->share_mask, 0U) << op;
  }
  EXPECT_EQ(find_op("aten::where.self")->share_mask, 0b110U);
  EXPECT_EQ(find_op("aten::add.Tensor")->share_mask, 0b11U);
  EXPECT_EQ(find_op("aten::pow.Scalar")->share_mask, 0b10U);
}

const char* cost_name(CostClass cost) {
  switch (cost) {
    case CostClass::free:
      return "free";
    case CostClass::pointwise:
      return "pointwise";
    case CostClass::reduction:
      return "reduction";
    case CostClass::window:
      return "window";
    case CostClass::matmul:
      return "matmul";
    case CostClass::unknown:
      break;
  }
  return "unknown";
}

std::string operator_document() {
  std::string text =
      "# Operators\n\n"
      "Generated from `src/ops/op_table.cc`; `LOWWATER_UPDATE_DOCS=1 test_ops` writes it anew.\n"
      "An operator that is not listed runs whole and aliases what its schema allows.\n\n"
      "*cost*: what one element of the output costs, roughly. *in place of*: the arguments whose\n"
      "address the output may take. *cut*: whether the operator can run on a part of its "
      "output.\n\n"
      "| operator | family | cost | in place of | cut |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const OpRow& row : op_table()) {
    std::string shared;
    const Schema* schema = snapshot_schemas().find(std::string(row.op));
    for (std::size_t bit = 0; schema != nullptr && bit < schema->args.size(); ++bit) {
      if ((row.share_mask >> bit & 1U) == 0) continue;
      shared += (shared.empty() ? "" : ", ") + schema->args[bit].name;
    }
    text += "| `" + std::string(row.op) + "` | " + std::string(row.family) + " | " +
            cost_name(row.cost) + " | " + shared + " | " + (row.region ? "yes" : "") + " |\n";
  }
  return text;
}

TEST(OpTable, DocumentIsCurrent) {
  const std::string path = LOWWATER_TEST_DATA "/../../docs/operators.md";
  if (std::getenv("LOWWATER_UPDATE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << operator_document();
  }
  EXPECT_EQ(read_test_file(path), operator_document())
      << "docs/operators.md is stale: LOWWATER_UPDATE_DOCS=1 test_ops";
}

}  // namespace
}  // namespace lowwater
