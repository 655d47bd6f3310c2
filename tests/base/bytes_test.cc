#include "base/bytes.h"

#include <gtest/gtest.h>

#include "lowwater/error.h"

namespace lowwater {
namespace {

TEST(Bytes, Parses) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("1.5GiB"), 1536 * kMiB);
  EXPECT_EQ(parse_bytes("0.5 KiB"), 512);
  EXPECT_EQ(parse_bytes("800MB"), 800'000'000);
  EXPECT_EQ(parse_bytes("2TiB"), 2048 * kGiB);
  EXPECT_EQ(parse_bytes("12B"), 12);
}

TEST(Bytes, RefusesNonsense) {
  for (const char* text : {"", " ", "GiB", "-1", "-1GiB", "1e3", "1 GiB ", "1  GiB", "1gib", "1Gi",
                           "nan", "inf", "0x10", "99999999999TiB", "1.5.5", "60%", "+1"}) {
    try {
      parse_bytes(text);
      ADD_FAILURE() << "'" << text << "' was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_EQ(error.message(), "'" + std::string(text) + "' is not a size");
    }
  }
}

TEST(Bytes, Prints) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1023), "1.00 KiB");
  EXPECT_EQ(format_bytes(1536 * kKiB), "1.50 MiB");
  EXPECT_EQ(format_bytes(12 * kGiB + 300 * kMiB), "12.3 GiB");
  EXPECT_EQ(format_bytes(912 * kMiB), "912 MiB");
  EXPECT_EQ(format_bytes(1023 * kMiB), "1.00 GiB");
  EXPECT_EQ(format_bytes(-2 * kMiB), "-2.00 MiB");
}

TEST(Bytes, PrintedSizesParseToWithinThreeDigits) {
  for (Bytes bytes = 1; bytes < (Bytes{1} << 45); bytes = bytes * 3 + 7) {
    const auto again = static_cast<double>(parse_bytes(format_bytes(bytes)));
    EXPECT_NEAR(again / static_cast<double>(bytes), 1.0, 0.0051) << bytes;
  }
}

TEST(Bytes, AlignUp) {
  EXPECT_EQ(align_up(0, 64), 0);
  EXPECT_EQ(align_up(1, 64), 64);
  EXPECT_EQ(align_up(64, 64), 64);
  EXPECT_EQ(align_up(65, 64), 128);
}

}  // namespace
}  // namespace lowwater
