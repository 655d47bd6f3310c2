// Archives made by hand, so that tests can get anything wrong.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "lowwater/error.h"
#include "temp_file.h"
#include "zip_builder.h"

namespace lowwater {

using Json = nlohmann::json;
using test::TempFolder;
using test::ZipEntry;
using test::ZipFile;

inline Json meta(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                 std::int64_t offset) {
  const auto list = [](const std::vector<std::int64_t>& values) {
    Json all = Json::array();
    for (const std::int64_t value : values) all.push_back({{"as_int", value}});
    return all;
  };
  return {{"dtype", 7},
          {"sizes", list(sizes)},
          {"strides", list(strides)},
          {"storage_offset", {{"as_int", offset}}},
          {"layout", 7},
          {"requires_grad", false}};
}

inline Json payload(const std::string& record, const Json& tensor_meta) {
  return {{"path_name", record},
          {"is_param", true},
          {"use_pickle", false},
          {"tensor_meta", tensor_meta}};
}

inline const std::string kWeights = "abcdefghijklmnopqrstuvwx";  // 24 bytes: 6 floats

// A sound archive; tests change `weights` or `records` before writing it.
struct Draft {
  Json weights = {{"w", payload("weight_0", meta({2, 3}, {3, 1}, 0))}};
  Json constants = Json::object();
  std::string root = "any name/";
  std::vector<ZipEntry> records = {
      {.name = "data/weights/weight_0", .payload = kWeights, .padding = 17},
      {.name = "archive_format", .payload = "pt2"},
      {.name = "archive_version", .payload = "0"},
      {.name = "byteorder", .payload = "little"},
      {.name = "models/model.json", .payload = "{\"a\": 1}"}};

  ZipEntry& record(const std::string& name) {
    for (ZipEntry& entry : records) {
      if (entry.name == name) return entry;
    }
    return records.emplace_back(ZipEntry{.name = name, .payload = {}});
  }
  [[nodiscard]] ZipFile file() const {
    ZipFile file{records};
    file.zip64 = true;
    file.entries.push_back({.name = "data/weights/model_weights_config.json",
                            .payload = Json{{"config", weights}}.dump()});
    file.entries.push_back({.name = "data/constants/model_constants_config.json",
                            .payload = Json{{"config", constants}}.dump()});
    for (ZipEntry& entry : file.entries) entry.name.insert(0, root);
    return file;
  }
  [[nodiscard]] std::string bytes() const { return file().bytes(); }
};

class Drafted : public testing::Test {
 protected:
  Archive open(const Draft& draft, const std::string& model = {}) const {
    return Archive::open(folder.write("m.pt2", draft.bytes()), model);
  }
  // "kind: message" of the refusal.
  std::string refusal(const std::string& bytes, const std::string& model = {}) const {
    const std::string path = folder.write("m.pt2", bytes);
    try {
      Archive::open(path, model);
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), path);
      EXPECT_FALSE(error.hint().empty());
      return (error.kind() == ErrorKind::unsupported ? "unsupported: " : "bad input: ") +
             error.message();
    }
    return "accepted";
  }
  std::string refusal(const Draft& draft) const { return refusal(draft.bytes()); }

  TempFolder folder;
};

}  // namespace lowwater
