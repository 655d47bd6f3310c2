#include "archive/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include "draft.h"

namespace lowwater {
namespace {

using test::as_text;
using test::data_path;

// Row-major bytes of a weight, in hexadecimal.
std::string hex_of(const Archive& archive, const Weight& weight) {
  const std::span<const std::byte> storage = archive.storage_bytes(weight.storage);
  const auto element = static_cast<std::size_t>(element_size(weight.dtype));
  const std::int64_t count = std::accumulate(weight.sizes.begin(), weight.sizes.end(),
                                             std::int64_t{1}, std::multiplies<>());
  std::string text;
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat, position = weight.storage_offset;
    for (std::size_t d = weight.sizes.size(); d-- > 0; rest /= weight.sizes[d]) {
      position += rest % weight.sizes[d] * weight.strides[d];
    }
    for (const std::byte byte :
         storage.subspan(static_cast<std::size_t>(position) * element, element)) {
      text += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
      text += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
    }
  }
  return text;
}

class WrittenByPyTorch : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string stem() {
    return data_path(std::string("archives/") + GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, WrittenByPyTorch,
                         testing::Values("net-2.9.1", "net-2.11.0", "net-2.15.0", "dynamic-2.9.1",
                                         "dynamic-2.11.0", "dynamic-2.15.0"));

TEST_P(WrittenByPyTorch, EveryWeightHasItsValues) {
  const Archive archive = Archive::open(stem() + ".pt2");
  const Json expected = Json::parse(test::read_file(stem() + ".json"));
  EXPECT_EQ(archive.model(), "model");
  EXPECT_TRUE(Json::parse(archive.program_json()).contains("graph_module"));
  ASSERT_FALSE(expected["weights"].empty());
  for (const auto& [name, value] : expected["weights"].items()) {
    const std::optional<WeightId> id = archive.weights().find(name);
    ASSERT_TRUE(id) << name;
    const Weight& weight = archive.weights().weights[static_cast<std::size_t>(*id)];
    EXPECT_EQ(weight.name, name);
    EXPECT_EQ(dtype_name(weight.dtype), value["dtype"].get<std::string>()) << name;
    EXPECT_EQ(weight.sizes, value["sizes"].get<std::vector<std::int64_t>>()) << name;
    EXPECT_EQ(hex_of(archive, weight), value["hex"].get<std::string>()) << name;
  }
  EXPECT_THAT(archive.check_all(), testing::IsEmpty());
}

TEST_P(WrittenByPyTorch, StoredPayloadsAreWindowsOfTheFile) {
  const Archive archive = Archive::open(stem() + ".pt2");
  const std::string file = test::read_file(stem() + ".pt2");
  Bytes total = 0;
  for (StorageIndex i = 0; i < std::ssize(archive.weights().storages); ++i) {
    const std::optional<Bytes> offset = archive.storage_file_offset(i);
    ASSERT_TRUE(offset);
    EXPECT_EQ(*offset % 64, 0);
    const std::span<const std::byte> bytes = archive.storage_bytes(i);
    EXPECT_EQ(as_text(bytes), file.substr(static_cast<std::size_t>(*offset), bytes.size()));
    total += static_cast<Bytes>(bytes.size());
  }
  EXPECT_EQ(archive.weights().total_bytes(), total);
}

TEST(Archive, TiedWeightsShareAStorageAndKinds) {
  const Archive archive = Archive::open(data_path("archives/net-2.11.0.pt2"));
  const WeightTable& table = archive.weights();
  const auto weight = [&](const char* name) {
    return table.weights[static_cast<std::size_t>(*table.find(name))];
  };
  EXPECT_EQ(weight("first").storage, weight("again").storage);
  EXPECT_EQ(weight("first").storage, weight("shifted").storage);
  EXPECT_EQ(table.storages[static_cast<std::size_t>(weight("first").storage)].size, 48);
  EXPECT_EQ(weight("shifted").storage_offset, 2);
  EXPECT_THAT(weight("shifted").strides, testing::ElementsAre(1, 4));
  EXPECT_EQ(weight("conv.weight").kind, WeightKind::parameter);
  EXPECT_EQ(weight("bn.running_mean").kind, WeightKind::buffer);
  EXPECT_EQ(weight("scratch").kind, WeightKind::constant);          // a non-persistent buffer
  EXPECT_EQ(weight("lifted_tensor_0").kind, WeightKind::constant);  // a tensor made in forward()
  EXPECT_THAT(weight("scalar").sizes, testing::IsEmpty());
  EXPECT_THAT(weight("empty").sizes, testing::ElementsAre(0, 4));
  EXPECT_EQ(weight("mask").dtype, DType::boolean);
  EXPECT_EQ(weight("shift").dtype, DType::f16);
  EXPECT_FALSE(table.find("no such weight"));
}

// ---- Archives made by hand

TEST_F(Drafted, AnyRootFolder) {
  for (const char* root : {"any name/", "archive/", "m/"}) {
    Draft draft;
    draft.root = root;
    const Archive archive = open(draft);
    EXPECT_EQ(as_text(archive.storage_bytes(0)), kWeights) << root;
    EXPECT_EQ(archive.program_json(), "{\"a\": 1}");
  }
}

TEST_F(Drafted, DeflatedRecordsAreInflatedOnceAndHaveNoOffset) {
  Draft draft;
  for (ZipEntry& entry : draft.records) entry.deflate = true;
  const Archive archive = open(draft), copy = archive;
  EXPECT_EQ(archive.storage_file_offset(0), std::nullopt);
  EXPECT_EQ(as_text(archive.storage_bytes(0)), kWeights);
  EXPECT_EQ(archive.storage_bytes(0).data(), copy.storage_bytes(0).data());
  EXPECT_EQ(archive.program_json(), "{\"a\": 1}");
}

TEST_F(Drafted, UnalignedPayloadsAreReadAlignedAndTheOffsetIsStillTheFiles) {
  for (std::size_t padding = 4; padding < 36; ++padding) {
    Draft draft;
    draft.record("data/weights/weight_0").padding = padding;
    const Archive archive = open(draft);
    const std::span<const std::byte> bytes = archive.storage_bytes(0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 16, 0U);
    EXPECT_EQ(as_text(bytes), kWeights);
    const auto offset = static_cast<std::size_t>(archive.storage_file_offset(0).value());
    EXPECT_EQ(draft.bytes().substr(offset, kWeights.size()), kWeights);
  }
}

TEST_F(Drafted, MarkersMustSayWhatIsExpected) {
  Draft draft;
  draft.record("archive_version").payload = "1";
  EXPECT_EQ(refusal(draft), "bad input: has another archive version than 0: '1'");
  draft = {};
  draft.record("byteorder").payload = "big";
  EXPECT_EQ(refusal(draft), "bad input: holds numbers in another byte order than little: 'big'");
  draft = {};
  draft.record("archive_format").payload = "pt3";
  EXPECT_EQ(refusal(draft), "bad input: has another archive format than 'pt2': 'pt3'");
}

TEST_F(Drafted, ModelIsChosenByNameOrAlone) {
  Draft draft;
  draft.record("models/other.json").payload = "{\"b\": 2}";
  draft.record("data/weights/other_weights_config.json").payload = R"({"config": {}})";
  draft.record("data/constants/other_constants_config.json").payload = R"({"config": {}})";
  EXPECT_EQ(refusal(draft.bytes()), "bad input: holds more than one model");
  EXPECT_EQ(refusal(draft.bytes(), "third"), "bad input: holds no model 'third'");
  EXPECT_EQ(open(draft, "other").program_json(), "{\"b\": 2}");
  EXPECT_TRUE(open(draft, "other").weights().weights.empty());
  EXPECT_EQ(open(draft, "model").weights().weights.size(), 1U);
}

TEST_F(Drafted, ForeignFilesAreNamed) {
  const auto zip = [&](std::initializer_list<const char*> names) {
    ZipFile file;
    for (const char* name : names) file.entries.push_back({.name = name, .payload = "x"});
    return refusal(file.bytes());
  };
  EXPECT_EQ(
      zip({"m/data.pkl", "m/data/0"}),
      "bad input: was written by torch.save: it holds tensors or a pickled module, no program");
  EXPECT_EQ(zip({"m/data.pkl", "m/constants.pkl", "m/code/a.py"}),
            "bad input: is a TorchScript archive");
  EXPECT_EQ(
      zip({"m/data/aotinductor/model/x.so", "m/archive_format"}),
      "bad input: is a compiled AOTInductor package: it holds machine code, no program to plan");
  EXPECT_EQ(zip({"serialized_exported_program.json", "version"}),
            "bad input: was exported by PyTorch 2.7 or older");
  EXPECT_EQ(zip({"holiday/1.jpg"}), "bad input: is a ZIP file, but not an archive of torch.export");
  EXPECT_EQ(zip({"m/archive_format"}), "bad input: is a .pt2 archive without a program");
  EXPECT_EQ(refusal(ZipFile{}.bytes()),
            "bad input: is a ZIP file, but not an archive of torch.export");
  EXPECT_EQ(refusal(std::string("\x93NUMPY")), "bad input: is a .npy array, not a model");
  EXPECT_EQ(refusal(std::string("")), "bad input: is empty");
  EXPECT_EQ(refusal(std::string("hello")), "bad input: is not a ZIP file");
  Draft old;  // PyTorch 2.8 wrote pickled weights
  old.records.push_back({.name = "models/m8.json", .payload = "{}"});
  EXPECT_EQ(refusal(old.bytes(), "m8"),
            "bad input: record 'any name/data/weights/m8_weights_config.json' is missing");
}

TEST_F(Drafted, CorruptJsonIsFoundAtOpenAndCorruptWeightsAtFirstRead) {
  Draft draft;
  std::string bytes = draft.bytes();
  bytes[bytes.find("{\"a\"") + 2] = 'b';
  EXPECT_EQ(refusal(bytes),
            "bad input: record 'any name/models/model.json' is corrupt: its bytes do not match "
            "their CRC");

  bytes = draft.bytes();
  bytes[bytes.find(kWeights)] = 'A';
  const Archive archive = Archive::open(folder.write("m.pt2", bytes));
  EXPECT_THAT(archive.check_all(), testing::ElementsAre("any name/data/weights/weight_0"));
  for (int i = 0; i < 2; ++i) {  // the same answer at the second read
    try {
      static_cast<void>(archive.storage_bytes(0));
      ADD_FAILURE() << "a corrupt weight was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_THAT(error.message(),
                  testing::HasSubstr("'any name/data/weights/weight_0' is corrupt"));
    }
  }
  EXPECT_EQ(archive.storage_bytes(0, false).size(), kWeights.size());
}

TEST_F(Drafted, ManyThreadsReadTheSameStorage) {
  Draft draft;
  draft.record("data/weights/weight_0").deflate = true;
  const Archive archive = open(draft);
  std::vector<const std::byte*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (const std::byte*& data : seen)
      threads.emplace_back([&] { data = archive.storage_bytes(0).data(); });
  }
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1U);
}

TEST_F(Drafted, FingerprintFollowsContentNotTheFilesName) {
  const Draft draft;
  const std::string print = open(draft).fingerprint();
  EXPECT_EQ(print.size(), 16U);
  Draft renamed;
  renamed.root = "elsewhere/";
  EXPECT_EQ(open(renamed).fingerprint(), print);
  Draft program, weights;
  program.record("models/model.json").payload = "{\"a\": 2}";
  weights.record("data/weights/weight_0").payload[3] = '!';
  EXPECT_NE(open(program).fingerprint(), print);
  EXPECT_NE(open(weights).fingerprint(), print);
}

TEST_F(Drafted, TruncatedAtEveryLength) {
  const std::string path = folder.write("m.pt2", Draft{}.bytes());
  for (std::size_t length = std::filesystem::file_size(path); length-- > 0;) {
    std::filesystem::resize_file(path, length);
    EXPECT_THROW(Archive::open(path), Error) << length;
  }
}

// Ten GiB of weights as a hole in a sparse file: opening touches headers only.
TEST_F(Drafted, OpeningDoesNotReadPayloads) {
  constexpr std::int64_t kSize = 10 * kGiB;
  Draft draft;
  draft.weights["w"] = payload("weight_0", meta({kSize / 4}, {1}, 0));
  ZipEntry& weight = draft.record("data/weights/weight_0");
  weight = {.name = weight.name, .payload = "", .zip64 = true, .padding = 64, .hole = kSize};
  const std::string path = folder.path("big.pt2");
  draft.file().write_sparse(path);
  ASSERT_GT(static_cast<Bytes>(std::filesystem::file_size(path)), kSize);

  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto begin = std::chrono::steady_clock::now();
  const Archive archive = Archive::open(path);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(archive.weights().total_bytes(), kSize);
  EXPECT_EQ(archive.storage_file_offset(0).value() + kSize,
            static_cast<Bytes>(draft.file().bytes().find("PK\3\4", 4)) + kSize);
  EXPECT_LT(seconds.count(), 1.0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 20 * 1024);  // KiB
}

}  // namespace
}  // namespace lowwater
