// Which items an output folder holds complete: one stem a line, appended after
// an item's last file is in place. What `run --resume` skips.
#pragma once

#include <set>
#include <string>

namespace lowwater::cli {

class Manifest {
 public:
  explicit Manifest(const std::string& folder);
  // Throws Error(machine) if the line cannot be written.
  void add(const std::string& stem);
  [[nodiscard]] std::set<std::string> finished() const;

 private:
  std::string path_;
};

}  // namespace lowwater::cli
