// Which record of a .pt2 archive is which, and what a file is that is none.
// Internal to archive/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/zip.h"

namespace lowwater {

// The records of one archive by name, without the root folder.
class Layout {
 public:
  Layout(const std::vector<Record>& records, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& root() const { return root_; }  // "name/", or empty
  // Null if there is no such record. "models/model.json"
  [[nodiscard]] const Record* find(const std::string& name) const;
  [[nodiscard]] bool has_folder(std::string_view prefix) const;
  // The names of models/*.json, sorted.
  [[nodiscard]] std::vector<std::string> models() const;

 private:
  std::string path_, root_;
  std::unordered_map<std::string, const Record*> by_name_;
};

// Throws Error(bad_input) that says what a file without a ZIP directory is, if
// its first bytes tell; returns otherwise.
void refuse_other_formats(std::span<const std::byte> file, const std::string& path);

// Throws Error(bad_input) that says what kind of ZIP file this is, unless it
// holds the program of an exported model.
void refuse_other_archives(const Layout& layout);

// The model asked for, or the only one if `wanted` is empty.
std::string choose_model(const Layout& layout, const std::string& wanted);

}  // namespace lowwater
