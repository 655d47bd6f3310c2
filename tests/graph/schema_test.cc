#include "graph/schema.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <sstream>

#include "lowwater/error.h"

namespace lowwater {
namespace {

SchemaTable snapshot() {
  std::ifstream file(LOWWATER_TEST_DATA "/schemas.json");
  std::stringstream text;
  text << file.rdbuf();
  return schema_table_from_json(text.str());
}

TEST(Schema, SnapshotKnowsCommonOperators) {
  const SchemaTable table = snapshot();
  EXPECT_EQ(table.torch_version, "2.11.0");
  for (const char* name : {"aten::conv2d", "aten::add.Tensor", "aten::linear", "aten::batch_norm",
                           "aten::scaled_dot_product_attention", "aten::slice_scatter"}) {
    EXPECT_NE(table.find(name), nullptr) << name;
  }
  EXPECT_EQ(table.find("aten::no_such_operator"), nullptr);
}

TEST(Schema, AliasesAndWrites) {
  const SchemaTable table = snapshot();
  const Schema* add = table.find("aten::add_.Tensor");
  ASSERT_NE(add, nullptr);
  EXPECT_TRUE(add->is_mutable());
  EXPECT_EQ(add->args[0].alias, "a");
  EXPECT_TRUE(add->args[0].is_write);
  EXPECT_EQ(add->returns[0].alias, "a");
  // The alias set of a list return is that of its elements.
  const Schema* split = table.find("aten::split.Tensor");
  ASSERT_NE(split, nullptr);
  EXPECT_FALSE(split->is_mutable());
  EXPECT_EQ(split->returns[0].type, SchemaType::tensor_list);
  EXPECT_EQ(split->returns[0].alias, split->args[0].alias);
  EXPECT_EQ(split->returns[0].alias, "a");
}

TEST(Schema, Defaults) {
  const SchemaTable table = snapshot();
  const Schema& conv = *table.find("aten::conv2d");
  EXPECT_EQ(conv.args[2].name, "bias");
  EXPECT_TRUE(conv.args[2].optional);
  EXPECT_EQ(conv.args[2].default_value, Arg());
  EXPECT_EQ(conv.args[3].default_value, Arg(std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(table.find("aten::gelu")->args[1].default_value, Arg(std::string("none")));
  EXPECT_EQ(table.find("aten::contiguous")->args[1].default_value, Arg(MemoryFormat::contiguous));
  EXPECT_EQ(table.find("aten::layer_norm")->args[4].default_value, Arg(1e-5));
  EXPECT_EQ(table.find("aten::add.Tensor")->args[2].default_value, Arg(std::int64_t{1}));
  EXPECT_FALSE(table.find("aten::conv2d")->args[0].has_default);
}

TEST(Schema, Tags) {
  const SchemaTable table = snapshot();
  EXPECT_TRUE(table.find("aten::bernoulli")->random);
  EXPECT_FALSE(table.find("aten::relu")->random);
  EXPECT_TRUE(table.find("aten::nonzero")->data_dependent);
}

TEST(Schema, JsonRoundTripIsExact) {
  const SchemaTable table = snapshot();
  const std::string text = schema_table_to_json(table);
  EXPECT_EQ(schema_table_to_json(schema_table_from_json(text)), text);
}

TEST(Schema, EveryKindOfDefaultSurvives) {
  const std::vector<std::pair<SchemaType, Arg>> defaults = {
      {SchemaType::tensor, std::monostate()},
      {SchemaType::boolean, true},
      {SchemaType::integer, std::int64_t{INT64_MIN}},
      {SchemaType::real, 0.1},
      {SchemaType::real, 2.0},
      {SchemaType::real, HUGE_VAL},
      {SchemaType::real, -HUGE_VAL},
      {SchemaType::scalar, std::int64_t{3}},
      {SchemaType::scalar, 3.0},
      {SchemaType::scalar, std::complex<double>(0.5, -HUGE_VAL)},
      {SchemaType::string, std::string("a\"b\n")},
      {SchemaType::dtype, DType::bf16},
      {SchemaType::memory_format, MemoryFormat::channels_last_3d},
      {SchemaType::layout, Layout::strided},
      {SchemaType::device, DeviceArg::host},
      {SchemaType::boolean_list, std::vector<bool>{true, false}},
      {SchemaType::boolean_list, std::vector<bool>{}},
      {SchemaType::integer_list, std::vector<std::int64_t>{}},
      {SchemaType::integer_list, std::vector<std::int64_t>{-1, 2}},
      {SchemaType::real_list, std::vector<double>{}},
      {SchemaType::real_list, std::vector<double>{1.0, HUGE_VAL}},
  };
  Schema schema;
  schema.name = "test::op";
  for (const auto& [type, value] : defaults) {
    SchemaArg arg;
    arg.name = "x";
    arg.type = type;
    arg.has_default = true;
    arg.default_value = value;
    schema.args.push_back(arg);
  }
  SchemaTable table;
  table.schemas.emplace(schema.name, schema);
  const SchemaTable read = schema_table_from_json(schema_table_to_json(table));
  const Schema* again = read.find("test::op");
  ASSERT_NE(again, nullptr);
  ASSERT_EQ(again->args.size(), defaults.size());
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    EXPECT_EQ(again->args[i].default_value, defaults[i].second) << "default " << i;
  }
}

TEST(Schema, MalformedTextsAreRefused) {
  for (const char* text : {"", "[]", "{}", R"({"version":2,"torch":"x","ops":{}})",
                           R"({"version":1,"torch":"x","ops":{"a":{"args":[{}],"returns":[]}}})",
                           R"({"version":1,"torch":"x","ops":{"a":{"args":[{"name":"b",)"
                           R"("type":"int","default":{}}],"returns":[]}}})",
                           R"({"version":1,"torch":"x","ops":{"a":{"args":[{"name":"b",)"
                           R"("type":"no_type"}],"returns":[]}}})"}) {
    EXPECT_THROW(schema_table_from_json(text), Error) << text;
  }
}

}  // namespace
}  // namespace lowwater
