#include "items.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

namespace lowwater::cli {
namespace {

namespace fs = std::filesystem;

std::string stem_of(const std::string& path) {
  return path == "-" ? "-" : fs::path(path).stem().string();
}

// Files that a folder given as input stands for: those with a known ending.
bool is_data_file(const fs::path& path) {
  static const std::set<std::string> kEndings = {".npy", ".npz", ".pt",  ".pth",
                                                 ".png", ".jpg", ".jpeg"};
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kEndings.contains(ending);
}

std::vector<std::string> expand(const std::string& pattern) {
  if (pattern == "-") return {"-"};
  std::error_code ignored;
  std::vector<std::string> files;
  if (fs::is_directory(pattern, ignored)) {
    for (const auto& entry : fs::directory_iterator(pattern, ignored)) {
      if (entry.is_regular_file(ignored) && is_data_file(entry.path()))
        files.push_back(entry.path().string());
    }
    if (files.empty()) {
      throw Error(ErrorKind::bad_input, "the folder holds no .npy, .npz, .pt, .png or .jpg file",
                  pattern);
    }
    return files;
  }
  if (fs::exists(pattern, ignored)) return {pattern};
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  if (files.empty()) throw Error(ErrorKind::bad_input, "no such file", pattern);
  return files;
}

std::string known_names(const std::vector<IoDescription>& inputs) {
  std::string names;
  for (const IoDescription& input : inputs) {
    if (input.is_tensor) names += (names.empty() ? "" : ", ") + input.name;
  }
  return names.empty() ? "none" : names;
}

// Splits NAME=PATH. A path may hold "=", so only a known or plausible name counts.
std::pair<int, std::string> split_argument(const std::string& argument,
                                           const std::vector<IoDescription>& inputs) {
  const std::size_t equals = argument.find('=');
  if (equals != std::string::npos) {
    const std::string name = argument.substr(0, equals);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_tensor && inputs[i].name == name) {
        return {static_cast<int>(i), argument.substr(equals + 1)};
      }
    }
    if (name.find('/') == std::string::npos) {
      throw Error(ErrorKind::bad_input, "the model has no input '" + name + "'",
                  "--input " + argument, "its inputs are: " + known_names(inputs));
    }
  }
  int only = -1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor) continue;
    if (only >= 0) {
      throw Error(ErrorKind::bad_input, "the model has several inputs", "--input " + argument,
                  "write NAME=PATH with one of: " + known_names(inputs));
    }
    only = static_cast<int>(i);
  }
  if (only < 0)
    throw Error(ErrorKind::bad_input, "the model takes no tensors", "--input " + argument);
  return {only, argument};
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](const std::string& s, std::size_t k) {
    return k < s.size() && std::isdigit(static_cast<unsigned char>(s[k])) != 0;
  };
  while (i < a.size() && j < b.size()) {
    if (digit(a, i) && digit(b, j)) {
      const std::size_t from_a = i, from_b = j;
      while (digit(a, i)) ++i;
      while (digit(b, j)) ++j;
      std::string x = a.substr(from_a, i - from_a), y = b.substr(from_b, j - from_b);
      x.erase(0, std::min(x.find_first_not_of('0'), x.size()));
      y.erase(0, std::min(y.find_first_not_of('0'), y.size()));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // "a01" and "a1": some order, always the same
}

std::vector<Item> list_items(const std::vector<std::string>& arguments,
                             const std::vector<IoDescription>& inputs) {
  // stem -> file, per input.
  std::vector<std::map<std::string, std::string>> by_stem(inputs.size());
  for (const std::string& argument : arguments) {
    const auto [index, pattern] = split_argument(argument, inputs);
    for (const std::string& file : expand(pattern)) {
      const auto [at, fresh] =
          by_stem[static_cast<std::size_t>(index)].emplace(stem_of(file), file);
      if (!fresh && at->second != file) {
        throw Error(
            ErrorKind::bad_input,
            "its results would overwrite those of " + at->second + ", which has the same name",
            file, "give them in separate runs with separate --output folders");
      }
    }
  }
  std::set<std::string> stems;
  for (const auto& files : by_stem) {
    for (const auto& [stem, file] : files) stems.insert(stem);
  }
  // One file each for several inputs is one item, whatever the files are called.
  bool single = true;
  std::string name;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor) continue;
    if (by_stem[i].empty()) {
      throw Error(ErrorKind::bad_input, "the input '" + inputs[i].name + "' is missing", "",
                  "add --input '" + inputs[i].name + "=FILES'");
    }
    single = single && by_stem[i].size() == 1;
    if (name.empty()) name = by_stem[i].begin()->first;
  }
  std::vector<Item> items;
  if (single && !name.empty()) {
    Item item{name == "-" ? "stdin" : name, std::vector<std::string>(inputs.size())};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_tensor) item.files[i] = by_stem[i].begin()->second;
    }
    return {item};
  }
  for (const std::string& stem : stems) {
    Item item{stem, std::vector<std::string>(inputs.size())};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_tensor) continue;
      const auto found = by_stem[i].find(stem);
      if (found == by_stem[i].end()) {
        throw Error(ErrorKind::bad_input,
                    "the item '" + stem + "' has no file for the input '" + inputs[i].name + "'",
                    "--input", "files of several inputs pair by name without ending");
      }
      item.files[i] = found->second;
    }
    items.push_back(std::move(item));
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return natural_less(a.stem, b.stem); });
  return items;
}

}  // namespace lowwater::cli
