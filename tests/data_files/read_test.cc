#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/data.h"
#include "data/pickle.h"
#include "lowwater/error.h"
#include "temp_file.h"
#include "zip_builder.h"

namespace lowwater {
namespace {

using Json = nlohmann::json;
using test::data_path;
using test::read_file;

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

Json describe(const NamedTensor& named) {
  return {{"name", named.name},
          {"dtype", std::string(dtype_name(named.tensor.dtype))},
          {"sizes", named.tensor.sizes},
          {"hex", hex(named.tensor.bytes)}};
}

// The whole line of the refusal, or "accepted".
std::string refusal(const std::string& path) {
  try {
    read_tensors(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_FALSE(error.hint().empty()) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_TRUE(error.where().starts_with(path)) << error.what();
    return error.what();
  }
  return "accepted";
}

// What make_data_files.py wrote down; without libjpeg every JPEG is refused.
Json expected() {
  Json files = Json::parse(read_file(data_path("files/expected.json")));
#ifndef LOWWATER_JPEG
  for (const char* name : {"rgb.jpg", "grey.jpg", "progressive.jpg", "cmyk.jpg"}) {
    files["tensors"].erase(name);
    files["refused"][name] = "is a JPEG image, and lowwater was built without libjpeg";
  }
#endif
  return files;
}

TEST(ReadTensors, FilesOfNumpyTorchAndPillow) {
  const Json files = expected()["tensors"];
  ASSERT_GT(files.size(), 60U);
  for (const auto& [name, wanted] : files.items()) {
    Json found = Json::array();
    for (const NamedTensor& tensor : read_tensors(data_path("files/" + name)))
      found.push_back(describe(tensor));
    EXPECT_EQ(found, wanted) << name;
  }
}

TEST(ReadTensors, WhatCannotBeReadIsRefusedByName) {
  const Json files = expected()["refused"];
  ASSERT_GT(files.size(), 20U);
  for (const auto& [name, wanted] : files.items()) {
    EXPECT_THAT(refusal(data_path("files/" + name)), testing::HasSubstr(wanted.get<std::string>()))
        << name;
  }
}

// Every file of every format, cut at every length (long ones at some).
TEST(ReadTensors, TruncatedFilesAreRefused) {
  const test::TempFolder folder;
  const Json files = expected()["tensors"];
  for (const auto& [name, wanted] : files.items()) {
    const std::string whole = read_file(data_path("files/" + name));
    const std::string path = folder.write(name, whole);
    const std::size_t step = whole.size() > 600 ? 41 : 7;
    for (std::size_t length = whole.size() - 1; length > 0; length -= std::min(step, length)) {
      std::filesystem::resize_file(path, length);
      EXPECT_NE(refusal(path), "accepted")
          << name << " cut at " << length << " of " << whole.size();
    }
  }
}

// One flipped bit: an error, or a tensor; never a crash (sanitizers watch).
// Formats with checksums must notice it wherever it changes a number.
TEST(ReadTensors, FlippedBits) {
  const test::TempFolder folder;
  for (const char* name : {"fortran.npy", "deflated.npz", "nested.pt", "protocol4.pt",
                           "palette.png", "grey16.png", "rgb.jpg"}) {
    if (!expected()["tensors"].contains(name)) continue;
    const std::string whole = read_file(data_path(std::string("files/") + name));
    const std::vector<NamedTensor> sound = read_tensors(data_path(std::string("files/") + name));
    const bool has_checksums =
        std::string_view(name).ends_with("npz") || std::string_view(name).ends_with("pt");
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 29) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const std::string path = folder.write(name, flipped);
      try {
        const std::vector<NamedTensor> found = read_tensors(path);
        for (std::size_t i = 0; has_checksums && i < found.size(); ++i) {
          EXPECT_EQ(found[i].tensor, sound.at(i).tensor) << name << " bit " << bit;
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      }
    }
  }
}

// ---- .npy headers ----------------------------------------------------------

std::string npy(const std::string& header, const std::string& payload, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += static_cast<char>(header.size());
  bytes += static_cast<char>(header.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + payload;
}

TEST(Npy, HeadersOfOtherWritersAreRead) {
  const test::TempFolder folder;
  const auto read = [&](const std::string& header) {
    return read_tensors(folder.write("a.npy", npy(header, "12345678"))).at(0).tensor.sizes;
  };
  EXPECT_THAT(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"),
              testing::ElementsAre(2));
  EXPECT_THAT(read("{\"shape\":(1,2),\"fortran_order\":True,\"descr\":\"f4\"}\n"),
              testing::ElementsAre(1, 2));
  EXPECT_THAT(read("{'shape': (2L, 1L), 'descr': '=f4', 'fortran_order': False}"),
              testing::ElementsAre(2, 1));
  EXPECT_THAT(read("{'shape': (), 'descr': '<i8', 'fortran_order': False}"), testing::IsEmpty());
}

TEST(Npy, MalformedHeadersAreRefused) {
  const test::TempFolder folder;
  const auto refused = [&](const std::string& header, char version = 1) {
    return refusal(folder.write("a.npy", npy(header, "12345678", version)));
  };
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"}) {
    EXPECT_THAT(refused(header), testing::HasSubstr("its .npy header is corrupt")) << header;
  }
  const auto shape = [](const std::string& text) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " + text + ", }";
  };
  EXPECT_THAT(refused(shape("(-2,)")), testing::HasSubstr("its shape is impossible"));
  EXPECT_THAT(refused(shape("(4611686018427387904, 4)")),
              testing::HasSubstr("its shape is impossible"));
  EXPECT_THAT(refused(shape("(3,)")), testing::HasSubstr("is truncated"));
  EXPECT_THAT(refused(shape("(1,)")), testing::HasSubstr("holds 4 bytes more than its shape says"));
  EXPECT_THAT(refused(shape("(2,)"), 4),
              testing::HasSubstr("has .npy version 4; 1 to 3 are known"));
}

// ---- torch.save with contents made by hand -----------------------------------

std::string int4(int value) {
  std::string code = "J";
  for (int shift = 0; shift < 32; shift += 8) code += static_cast<char>((value >> shift) & 0xFF);
  return code;
}

std::string text(const std::string& value) {
  return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
}

// A program that makes a float tensor over storage "0"; `view` pushes offset, sizes, strides.
std::string program(const std::string& view) {
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n((" +
         text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x04tQ" + view +
         "\x89"
         "ccollections\nOrderedDict\n)RtR.";
}

std::string saved(const std::string& view) {
  return test::ZipFile{{{.name = "a/data.pkl", .payload = program(view)},
                        {.name = "a/data/0", .payload = "0123456789abcdef"}}}
      .bytes();
}

TEST(TorchSave, ViewsMustLieInsideTheirStorage) {
  const test::TempFolder folder;
  const auto view = [&](int offset, int size, int stride) {
    return refusal(
        folder.write("a.pt", saved(int4(offset) + int4(size) + "\x85" + int4(stride) + "\x85")));
  };
  EXPECT_EQ(view(0, 4, 1), "accepted");
  EXPECT_EQ(view(1, 2, 2), "accepted");
  EXPECT_EQ(view(9, 0, 1), "accepted");
  for (const auto& [offset, size, stride] :
       std::vector<std::tuple<int, int, int>>{{1, 4, 1},
                                              {0, 5, 1},
                                              {0, 3, 2},
                                              {-1, 2, 1},
                                              {3, 2, -1},
                                              {2147483647, 1, 1},
                                              {0, 2, 2147483647}}) {
    EXPECT_THAT(view(offset, size, stride),
                testing::HasSubstr("reaches beyond the end of its storage"));
  }
  EXPECT_THAT(view(0, -1, 1), testing::HasSubstr("its sizes are impossible"));
}

TEST(TorchSave, BigEndianAndMissingStoragesAreRefused) {
  const test::TempFolder folder;
  const std::string view = int4(0) + int4(2) + "\x85" + int4(1) + "\x85";
  test::ZipFile file{
      {{.name = "a/data.pkl", .payload = "\x80\x02N."}, {.name = "a/byteorder", .payload = "big"}}};
  EXPECT_THAT(refusal(folder.write("a.pt", file.bytes())), testing::HasSubstr("byte order 'big'"));
  file.entries[1] = {.name = "a/constants.pkl", .payload = "x"};
  EXPECT_THAT(refusal(folder.write("a.pt", file.bytes())),
              testing::HasSubstr("is a TorchScript archive"));
  std::string bytes = saved(view);
  for (std::size_t at = 0; (at = bytes.find("a/data/0", at)) != std::string::npos;)
    bytes[at + 7] = '9';
  EXPECT_THAT(refusal(folder.write("a.pt", bytes)),
              testing::HasSubstr("its storage '0' is missing"));
}

// Any one instruction after any prefix of a sound program: an Error or a value.
TEST(TorchSave, NoInstructionBreaksTheMachine) {
  const std::string sound = program(int4(0) + int4(2) + "\x85" + int4(1) + "\x85");
  int refused = 0, stopped = 0;
  const std::size_t before_call = sound.size() - 3;  // then come TUPLE, REDUCE, STOP
  for (std::size_t length = 2; length <= before_call; ++length) {
    for (int instruction = 0; instruction < 256; ++instruction) {
      const std::string code = sound.substr(0, length) + static_cast<char>(instruction) + "....";
      try {
        stopped += read_pickled_tensors(test::as_bytes(code), "a.pt").empty() ? 1 : 0;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input);
        ++refused;
      }
    }
  }
  EXPECT_EQ(refused + stopped, 256 * (static_cast<int>(before_call) - 1));  // never a tensor
  EXPECT_GT(stopped, 100);
}

// ---- images ----------------------------------------------------------------

std::vector<float> floats(const HostTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

HostTensor image(const char* name, const ImageOptions& options) {
  return read_tensors(data_path(std::string("files/") + name), options).at(0).tensor;
}

TEST(Image, MeanAndDeviationPerChannel) {
  const std::vector<float> raw = floats(image("rgb.png", {.scale = 1}));
  const HostTensor tensor = image("rgb.png", {.scale = 0.5, .mean = {1, 2, 3}, .std = {2, 4, 8}});
  EXPECT_THAT(tensor.sizes, testing::ElementsAre(1, 3, 5, 7));
  const std::vector<float> values = floats(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / 35;
    const float mean[] = {1, 2, 3}, std[] = {2, 4, 8};
    EXPECT_EQ(values[i], (raw[i] * 0.5F - mean[channel]) / std[channel]);
  }
  EXPECT_EQ(floats(image("rgb.png", {.scale = 1, .mean = {1}}))[5], raw[5] - 1);
}

TEST(Image, ChannelsAreConverted) {
  const std::vector<float> rgba = floats(image("rgba.png", {.scale = 1}));
  const std::vector<float> rgb = floats(image("rgba.png", {.scale = 1, .channels = 3}));
  EXPECT_EQ(rgb, std::vector<float>(rgba.begin(), rgba.begin() + 105));
  const std::vector<float> grey = floats(image("grey.png", {.scale = 1}));
  const std::vector<float> thrice = floats(image("grey.png", {.scale = 1, .channels = 3}));
  for (std::size_t i = 0; i < thrice.size(); ++i) EXPECT_EQ(thrice[i], grey[i % 35]);
  const std::vector<float> luma = floats(image("rgb.png", {.scale = 1, .channels = 1}));
  const std::vector<float> colour = floats(image("rgb.png", {.scale = 1}));
  ASSERT_EQ(luma.size(), 35U);
  for (std::size_t i = 0; i < 35; ++i) {
    EXPECT_NEAR(luma[i], 0.299 * colour[i] + 0.587 * colour[35 + i] + 0.114 * colour[70 + i],
                0.501);
  }
}

TEST(Image, WhatCannotBeConvertedIsRefused) {
  const auto refused = [](const char* name, const ImageOptions& options) -> std::string {
    try {
      image(name, options);
    } catch (const Error& error) {
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(refused("rgb.png", {.channels = 4}), "is RGB, which does not give 4 channels");
  EXPECT_EQ(refused("grey.png", {.channels = 2}), "is grey, which does not give 2 channels");
  EXPECT_EQ(refused("grey_alpha.png", {.channels = 4}),
            "is grey and alpha, which does not give 4 channels");
  EXPECT_EQ(refused("rgb.png", {.mean = {1, 2}}), "the mean has 2 numbers, the image 3 channels");
  EXPECT_EQ(refused("rgb.png", {.std = {1, 2}}),
            "the standard deviation has 2 numbers, the image 3 channels");
  EXPECT_EQ(refused("rgb.png", {.std = {0}}), "a standard deviation of 0 was given");
}

}  // namespace
}  // namespace lowwater
