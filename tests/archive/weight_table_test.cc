#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft.h"

namespace lowwater {
namespace {

using test::as_text;

TEST_F(Drafted, ViewsMustLieInsideTheirRecord) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto view = [&](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                        std::int64_t offset) {
    Draft draft;
    draft.weights["w"] = payload("weight_0", meta(std::move(sizes), std::move(strides), offset));
    return refusal(draft);
  };
  const std::string beyond = "bad input: weight 'w': it reaches beyond the end of its record";
  EXPECT_EQ(view({2, 3}, {3, 1}, 0), "accepted");
  EXPECT_EQ(view({3}, {1}, 3), "accepted");
  EXPECT_EQ(view({3}, {1}, 4), beyond);
  EXPECT_EQ(view({}, {}, 5), "accepted");
  EXPECT_EQ(view({}, {}, 6), beyond);
  EXPECT_EQ(view({6}, {1}, 0), "accepted");
  EXPECT_EQ(view({7}, {1}, 0), beyond);
  EXPECT_EQ(view({1000, 6}, {0, 1}, 0), "accepted");
  EXPECT_EQ(view({0, 5}, {5, 1}, 100), "accepted");
  EXPECT_EQ(view({2}, {huge}, 0), beyond);
  EXPECT_EQ(view({3}, {huge}, huge), beyond);
  EXPECT_EQ(view({huge, 8}, {0, 0}, 0), beyond);
  EXPECT_EQ(view({2}, {-1}, 1), "bad input: weight 'w': a size, stride or offset is negative");
  EXPECT_EQ(view({2}, {1, 1}, 0),
            "bad input: weight 'w': it has more sizes than strides, or fewer");
}

TEST_F(Drafted, WhatCannotBeReadIsRefusedByName) {
  const auto changed = [&](const std::function<void(Json&)>& change) {
    Draft draft;
    change(draft.weights["w"]);
    return refusal(draft);
  };
  EXPECT_EQ(changed([](Json& w) { w["use_pickle"] = true; }),
            "unsupported: weight 'w' is a pickled tensor subclass");
  EXPECT_EQ(changed([](Json& w) { w["tensor_meta"]["dtype"] = 99; }),
            "unsupported: weight 'w' has an element type that is not known (number 99)");
  EXPECT_EQ(changed([](Json& w) { w["tensor_meta"]["layout"] = 1; }),
            "unsupported: weight 'w' is not a dense tensor");
  EXPECT_EQ(changed([](Json& w) { w["path_name"] = "weight_7"; }),
            "bad input: weight 'w': its record 'any name/data/weights/weight_7' is missing");
  EXPECT_EQ(changed([](Json& w) { w["tensor_meta"].erase("storage_offset"); }),
            "bad input: weight 'w': 'storage_offset' is missing");
  EXPECT_EQ(changed([](Json& w) {
              w["tensor_meta"]["sizes"][0] = {{"as_expr", "s0"}};
            }),
            "bad input: weight 'w': 'as_int' is missing");
  EXPECT_EQ(changed([](Json& w) { w["tensor_meta"]["dtype"] = "float"; }),
            "bad input: weight 'w': an integer was expected");
  EXPECT_EQ(changed([](Json& w) { w["is_param"] = 1; }),
            "bad input: weight 'w': true or false was expected");
  EXPECT_EQ(changed([](Json& w) { w = 3; }), "bad input: weight 'w': an object was expected");
  Draft fake;
  fake.record("data/weights/weight_0").payload.clear();
  EXPECT_EQ(refusal(fake), "unsupported: weight 'w' has no data in the archive");
}

TEST_F(Drafted, ConstantsJoinTheTableAndCustomObjectsAreLeftOut) {
  Draft draft;
  draft.record("data/constants/tensor_0").payload = "12345678";
  draft.constants["c"] = payload("tensor_0", meta({2}, {1}, 0));
  draft.constants["object"] = {{"path_name", "custom_obj_0"},
                               {"is_param", false},
                               {"use_pickle", true},
                               {"tensor_meta", nullptr}};
  const Archive archive = open(draft);
  ASSERT_EQ(archive.weights().weights.size(), 2U);
  EXPECT_EQ(archive.weights().weights[1].kind, WeightKind::constant);
  EXPECT_EQ(as_text(archive.storage_bytes(archive.weights().weights[1].storage)), "12345678");
  EXPECT_EQ(archive.weights().total_bytes(), 32);

  draft.constants["w"] = payload("tensor_0", meta({2}, {1}, 0));
  EXPECT_EQ(refusal(draft), "bad input: weight 'w': it is listed twice");
}

}  // namespace
}  // namespace lowwater
