// The programs in tests/data/programs, with weight tables made from their configs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "archive/archive.h"
#include "schemas.h"

namespace lowwater {

struct ProgramFile {
  nlohmann::json program;
  WeightTable weights;
};

inline std::vector<std::int64_t> plain_sizes(const nlohmann::json& sizes) {
  std::vector<std::int64_t> result;
  for (const auto& size : sizes) result.push_back(size.at("as_int").get<std::int64_t>());
  return result;
}

inline ProgramFile read_program_file(const std::string& name) {
  const auto document =
      nlohmann::json::parse(read_test_file(LOWWATER_TEST_DATA "/programs/" + name + ".json"));
  ProgramFile file{document.at("program"), {}};
  for (const char* table : {"weights", "constants"}) {
    for (const auto& [weight_name, payload] : document.at(table).items()) {
      const auto& meta = payload.at("tensor_meta");
      file.weights.by_name[weight_name] = static_cast<WeightId>(file.weights.weights.size());
      file.weights.weights.push_back({.name = weight_name,
                                      .dtype = *dtype_from_archive(meta.at("dtype").get<int>()),
                                      .sizes = plain_sizes(meta.at("sizes")),
                                      .strides = plain_sizes(meta.at("strides"))});
    }
  }
  return file;
}

}  // namespace lowwater
