#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "data/data.h"
#include "lowwater/error.h"
#include "temp_file.h"

namespace lowwater {
namespace {

using test::TempFolder;

template <class T>
HostTensor tensor_of(DType dtype, std::vector<std::int64_t> sizes, const std::vector<T>& values) {
  HostTensor tensor{dtype, std::move(sizes), std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

TEST(WriteNpy, ReadsBack) {
  const TempFolder folder;
  for (const DType dtype :
       {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::f32,
        DType::f64, DType::c64, DType::c128, DType::boolean, DType::u16}) {
    for (const std::vector<std::int64_t>& sizes :
         std::vector<std::vector<std::int64_t>>{{}, {3}, {2, 3}, {0, 4}, {1, 2, 3, 4}}) {
      const std::int64_t count =
          std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
      HostTensor tensor{dtype, sizes, {}};
      for (std::int64_t i = 0; i < count * element_size(dtype); ++i)
        tensor.bytes.push_back(std::byte(i % 2));
      write_npy(folder.path("a.npy"), tensor);
      EXPECT_EQ(read_tensors(folder.path("a.npy")).at(0).tensor, tensor) << dtype_name(dtype);
    }
  }
}

TEST(WriteNpy, SameBytesAsNumpy) {
  const TempFolder folder;
  for (const char* name :
       {"f4_little", "i8_little", "bool_little", "c16_little", "scalar", "empty", "one"}) {
    const std::string path = test::data_path(std::string("files/") + name + ".npy");
    write_npy(folder.path("a.npy"), read_tensors(path).at(0).tensor);
    EXPECT_EQ(test::read_file(folder.path("a.npy")), test::read_file(path)) << name;
  }
}

TEST(WriteNpy, Bfloat16BecomesFloat32AndFloat8IsRefused) {
  const TempFolder folder;
  // 1.0, -2.5, infinity
  write_npy(folder.path("a.npy"),
            tensor_of<std::uint16_t>(DType::bf16, {3}, {0x3f80, 0xc020, 0x7f80}));
  EXPECT_EQ(
      read_tensors(folder.path("a.npy")).at(0).tensor,
      tensor_of<float>(DType::f32, {3}, {1.0F, -2.5F, std::numeric_limits<float>::infinity()}));
  try {
    write_npy(folder.path("b.npy"), {DType::f8_e4m3fn, {1}, {std::byte{0}}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.message(), "elements of type f8_e4m3fn cannot be written as .npy");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("b.npy")));
}

TEST(WriteNpy, StreamsBothWays) {
  const HostTensor tensor = tensor_of<float>(DType::f32, {2, 2}, {1, 2, 3, 4});
  std::FILE* stream = std::tmpfile();
  write_npy_stream(stream, tensor);
  write_npy_stream(stream, tensor);
  std::rewind(stream);
  EXPECT_EQ(read_npy_stream(stream, "standard input"), tensor);
  EXPECT_EQ(read_npy_stream(stream, "standard input"), tensor);  // stops behind the first array
  try {
    read_npy_stream(stream, "standard input");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "standard input");
    EXPECT_EQ(error.message(), "is truncated");
  }
  std::fclose(stream);
}

TEST(WritePng, LabelsReadBackInEightOrSixteenBits) {
  const TempFolder folder;
  const auto round_trip = [&](const HostTensor& labels, int bits) {
    write_label_png(folder.path("a.png"), labels);
    const std::string bytes = test::read_file(folder.path("a.png"));
    EXPECT_EQ(bytes.at(24), bits);  // IHDR: width, height, depth
    EXPECT_EQ(bytes.at(25), 0);     // grey
    const HostTensor read =
        read_tensors(folder.path("a.png"), {.scale = bits == 16 ? 257.0 : 1.0}).at(0).tensor;
    std::vector<int> values;
    for (std::size_t i = 0; i < read.bytes.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, read.bytes.data() + i, 4);
      values.push_back(static_cast<int>(std::lround(value)));
    }
    return std::pair(read.sizes, values);
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(
      round_trip(tensor_of<std::int64_t>(DType::i64, {1, 1, 2, 3}, {0, 1, 2, 253, 254, 255}), 8),
      Pair(ElementsAre(1, 1, 2, 3), ElementsAre(0, 1, 2, 253, 254, 255)));
  EXPECT_THAT(round_trip(tensor_of<std::int32_t>(DType::i32, {3, 1}, {0, 256, 65535}), 16),
              Pair(ElementsAre(1, 1, 3, 1), ElementsAre(0, 256, 65535)));
  EXPECT_THAT(round_trip(tensor_of<std::uint8_t>(DType::boolean, {1, 1, 2}, {1, 0}), 8),
              Pair(ElementsAre(1, 1, 1, 2), ElementsAre(1, 0)));
}

TEST(WritePng, OtherOutputsAreRefusedByName) {
  const TempFolder folder;
  const auto refused = [&](const HostTensor& tensor) -> std::string {
    try {
      write_label_png(folder.path("a.png"), tensor);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_EQ(error.where(), folder.path("a.png"));
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(refused(tensor_of<float>(DType::f32, {1, 1}, {1})),
            "an output of type f32 is no label map");
  EXPECT_EQ(refused(tensor_of<std::uint8_t>(DType::u8, {2, 1, 1}, {1, 2})),
            "an output of size 2x1x1 is no label map (1 x ... x height x width)");
  EXPECT_EQ(refused(tensor_of<std::uint8_t>(DType::u8, {3}, {1, 2, 3})),
            "an output of size 3 is no label map (1 x ... x height x width)");
  EXPECT_EQ(refused(tensor_of<std::int16_t>(DType::i16, {1, 2}, {-1, 0})),
            "the label -1 does not fit in 16 bits of grey");
  EXPECT_EQ(refused(tensor_of<std::int32_t>(DType::i32, {1, 1}, {65536})),
            "the label 65536 does not fit in 16 bits of grey");
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(folder.path("a.png")).parent_path()));
}

// A limit on file sizes stands in for a full disk: writes fail in the middle.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

TEST(WriteFailures, LeaveTheOldFileAndNothingElse) {
  const TempFolder folder;
  const std::string npy = folder.write("a.npy", "old"), png = folder.write("a.png", "old");
  std::vector<std::int32_t> noise(100'000);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<std::int32_t>((i * i * 2654435761U) >> 7 & 0xFFFF);
  const HostTensor tensor = tensor_of(DType::i32, {1, 400, 250}, noise);
  const auto kind = [](auto write) {
    try {
      write();
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.kind();
    }
    return ErrorKind::internal;
  };
  {
    const SizeLimit limit(8192);
    EXPECT_EQ(kind([&] { write_npy(npy, tensor); }), ErrorKind::machine);
    EXPECT_EQ(kind([&] { write_label_png(png, tensor); }), ErrorKind::machine);
  }
  EXPECT_EQ(kind([&] { write_npy(folder.path("no/such/folder.npy"), tensor); }),
            ErrorKind::machine);
  EXPECT_EQ(test::read_file(npy), "old");
  EXPECT_EQ(test::read_file(png), "old");
  EXPECT_EQ(std::distance(
                std::filesystem::directory_iterator(std::filesystem::path(npy).parent_path()), {}),
            2);
  EXPECT_EQ(kind([&] { write_npy_stream(std::fopen("/dev/full", "w"), tensor); }),
            ErrorKind::machine);
}

}  // namespace
}  // namespace lowwater
