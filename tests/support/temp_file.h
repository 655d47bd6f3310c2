// A folder that is removed with everything in it, and files in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace lowwater::test {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lowwater-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::remove(
        path(name));  // replacing a file's content waits for the disk on some systems
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string data_path(const std::string& name) {
  return std::string(LOWWATER_TEST_DATA) + "/" + name;
}

}  // namespace lowwater::test
