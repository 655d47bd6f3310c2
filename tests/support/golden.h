// Golden files: sections of text in one file, the last of which is compared.
//
//   a few words on what the case shows
//   ---- graph
//   graph(...): ...
//   ---- program
//   (expected)
//
// LOWWATER_UPDATE_GOLDEN=1 rewrites the expected sections; read the diff.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lowwater {

struct GoldenFile {
  std::filesystem::path path;
  std::vector<std::pair<std::string, std::string>> sections;  // name, text; "" first

  [[nodiscard]] std::string section(const std::string& name) const {
    for (const auto& [key, text] : sections) {
      if (key == name) return text;
    }
    return {};
  }
};

inline GoldenFile read_golden(const std::filesystem::path& path) {
  GoldenFile file{path, {{"", ""}}};
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("---- ")) {
      file.sections.emplace_back(line.substr(5), "");
    } else {
      file.sections.back().second += line + "\n";
    }
  }
  return file;
}

// Sorted paths of tests/golden/<folder>.
inline std::vector<std::filesystem::path> golden_files(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(LOWWATER_TEST_DATA) / "../golden" / folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline void expect_golden(GoldenFile file, const std::string& name, const std::string& actual) {
  if (std::getenv("LOWWATER_UPDATE_GOLDEN") == nullptr) {
    EXPECT_EQ(actual, file.section(name))
        << file.path << "\nrun with LOWWATER_UPDATE_GOLDEN=1 to accept";
    return;
  }
  bool found = false;
  std::ofstream out(file.path);
  for (const auto& [key, text] : file.sections) {
    if (!key.empty()) out << "---- " << key << "\n";
    out << (key == name ? actual : text);
    found = found || key == name;
  }
  if (!found) out << "---- " << name << "\n" << actual;
}

}  // namespace lowwater
