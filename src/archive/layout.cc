#include "archive/layout.h"

#include <algorithm>
#include <array>

#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr std::string_view kModels = "models/", kJson = ".json";
constexpr const char* kExportHint =
    "export the model with torch.export.save(...) of PyTorch 2.9 or newer";

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::bad_input, what, path, kExportHint);
}

struct Magic {
  std::string_view bytes;
  const char* what;
};
using namespace std::string_view_literals;

constexpr std::array<Magic, 7> kMagics = {{
    {"\x80\x02\x8a\nl"sv, "holds tensors saved by an old torch.save, without a program"},
    {"\x80\x02"sv, "is a Python pickle, which holds no program"},
    {"\x93NUMPY"sv, "is a .npy array, not a model"},
    {"\x89HDF"sv, "is an HDF5 file, not an exported model"},
    {"GGUF"sv, "is a GGUF file, not an exported model"},
    {"\x08\x03\x12"sv, "looks like an ONNX model"},
    {"\x1f\x8b"sv, "is compressed with gzip; unpack it first"},
}};

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

Layout::Layout(const std::vector<Record>& records, std::string path) : path_(std::move(path)) {
  if (!records.empty()) {
    const std::size_t slash = records.front().name.find('/');
    if (slash != std::string::npos) root_ = records.front().name.substr(0, slash + 1);
  }
  for (const Record& record : records) {
    if (record.name.starts_with(root_)) by_name_.emplace(record.name.substr(root_.size()), &record);
  }
}

const Record* Layout::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

bool Layout::has_folder(std::string_view prefix) const {
  return std::ranges::any_of(by_name_,
                             [&](const auto& item) { return item.first.starts_with(prefix); });
}

std::vector<std::string> Layout::models() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : by_name_) {
    if (!name.starts_with(kModels) || !name.ends_with(kJson)) continue;
    if (name.size() <= kModels.size() + kJson.size()) continue;
    names.push_back(name.substr(kModels.size(), name.size() - kModels.size() - kJson.size()));
  }
  std::ranges::sort(names);
  return names;
}

void refuse_other_formats(std::span<const std::byte> file, const std::string& path) {
  if (file.empty()) refuse(path, "is empty");
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) refuse(path, magic.what);
  }
  // safetensors: eight bytes of length, then a JSON object.
  if (text.size() > 9 && text.substr(8, 2) == "{\"") {
    refuse(path, "looks like a safetensors file, which holds weights without a program");
  }
}

void refuse_other_archives(const Layout& layout) {
  const std::string& path = layout.path();
  if (!layout.models().empty()) return;
  if (layout.find("serialized_exported_program.json") != nullptr) {
    refuse(path, "was exported by PyTorch 2.7 or older");
  }
  if (layout.has_folder("data/aotinductor/")) {
    refuse(path, "is a compiled AOTInductor package: it holds machine code, no program to plan");
  }
  if (layout.find("constants.pkl") != nullptr || layout.has_folder("code/")) {
    refuse(path, "is a TorchScript archive");
  }
  if (layout.find("data.pkl") != nullptr) {
    refuse(path, "was written by torch.save: it holds tensors or a pickled module, no program");
  }
  if (layout.find("archive_format") != nullptr) refuse(path, "is a .pt2 archive without a program");
  refuse(path, "is a ZIP file, but not an archive of torch.export");
}

std::string choose_model(const Layout& layout, const std::string& wanted) {
  const std::vector<std::string> models = layout.models();
  if (wanted.empty() && models.size() == 1) return models.front();
  if (std::ranges::find(models, wanted) != models.end()) return wanted;
  const std::string what =
      wanted.empty() ? "holds more than one model" : "holds no model '" + wanted + "'";
  throw Error(ErrorKind::bad_input, what, layout.path(), "it holds " + join(models));
}

}  // namespace lowwater
