#include "base/dtype.h"

#include <gtest/gtest.h>

namespace lowwater {
namespace {

constexpr int kCount = static_cast<int>(DType::f8_e5m2fnuz) + 1;

TEST(DType, NamesParseBack) {
  for (int i = 0; i < kCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("float32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DType, Sizes) {
  EXPECT_EQ(element_size(DType::boolean), 1);
  EXPECT_EQ(element_size(DType::bf16), 2);
  EXPECT_EQ(element_size(DType::f32), 4);
  EXPECT_EQ(element_size(DType::i64), 8);
  EXPECT_EQ(element_size(DType::c32), 4);
  EXPECT_EQ(element_size(DType::c128), 16);
  EXPECT_EQ(element_size(DType::f8_e4m3fn), 1);
}

TEST(DType, ArchiveNumbersAreThoseOfTheExportSchema) {
  EXPECT_EQ(dtype_from_archive(1), DType::u8);
  EXPECT_EQ(dtype_from_archive(5), DType::i64);
  EXPECT_EQ(dtype_from_archive(7), DType::f32);
  EXPECT_EQ(dtype_from_archive(12), DType::boolean);
  EXPECT_EQ(dtype_from_archive(13), DType::bf16);
  EXPECT_EQ(dtype_from_archive(28), DType::u16);
  for (const int unknown : {-1, 0, 14, 27, 33})
    EXPECT_EQ(dtype_from_archive(unknown), std::nullopt);
}

TEST(DType, Floating) {
  EXPECT_TRUE(is_floating(DType::f16));
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_TRUE(is_floating(DType::f8_e5m2));
  EXPECT_FALSE(is_floating(DType::c64));
  EXPECT_FALSE(is_floating(DType::boolean));
  EXPECT_FALSE(is_floating(DType::i32));
}

}  // namespace
}  // namespace lowwater
