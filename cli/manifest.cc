#include "manifest.h"

#include <filesystem>
#include <fstream>

#include "lowwater/error.h"

namespace lowwater::cli {

Manifest::Manifest(const std::string& folder)
    : path_((std::filesystem::path(folder) / ".lowwater-finished").string()) {}

void Manifest::add(const std::string& stem) {
  std::ofstream file(path_, std::ios::app);
  file << stem << '\n';
  file.close();
  if (!file) throw Error(ErrorKind::machine, "cannot be written", path_, "is there space?");
}

std::set<std::string> Manifest::finished() const {
  std::set<std::string> stems;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) stems.insert(line);
  return stems;
}

}  // namespace lowwater::cli
