// Tensors saved with torch.save: the pickle's descriptions meet their bytes.
#include <algorithm>
#include <unordered_map>

#include "data/pickle.h"
#include "data/refuse.h"
#include "data/strided.h"
#include "data/zipped.h"

namespace lowwater {
namespace {

class StorageReader {
 public:
  StorageReader(std::span<const std::byte> file, const std::vector<Record>& records,
                std::string root, const std::string& path)
      : file_(file), root_(std::move(root)), path_(path) {
    for (const Record& record : records) by_name_.emplace(record.name, &record);
  }

  [[nodiscard]] const Record* find(const std::string& name) const {
    const auto found = by_name_.find(root_ + name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  HostTensor read(const PickledTensor& tensor) {
    const std::int64_t element = element_size(tensor.dtype);
    const auto bytes = checked_bytes(tensor.sizes, element);
    if (!bytes) corrupt(tensor, "its sizes are impossible");
    if (*bytes == 0) return {tensor.dtype, tensor.sizes, {}};
    const std::vector<std::byte>& storage = load(tensor);
    const auto size = static_cast<std::int64_t>(storage.size());
    check_inside(tensor, size / element);
    if (*bytes > size) {
      refuse_data(path_, label(tensor) + " is an expanded view, larger than its bytes in the file",
                  "save x.contiguous()");
    }
    return {
        tensor.dtype, tensor.sizes,
        gather(storage.data() + tensor.offset * element, tensor.sizes, tensor.strides, element)};
  }

 private:
  static std::string label(const PickledTensor& tensor) {
    return tensor.name.empty() ? "its tensor" : "tensor '" + tensor.name + "'";
  }
  [[noreturn]] void corrupt(const PickledTensor& tensor, const std::string& what) const {
    refuse_data(path_, label(tensor) + " is corrupt: " + what, "save the tensors again");
  }

  void check_inside(const PickledTensor& tensor, std::int64_t elements) const {
    std::int64_t last = tensor.offset;
    bool sound = tensor.offset >= 0;
    for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
      std::int64_t step = 0;
      sound &= tensor.strides[d] >= 0 &&
               !__builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &step) &&
               !__builtin_add_overflow(last, step, &last);
    }
    if (!sound || last >= elements) corrupt(tensor, "it reaches beyond the end of its storage");
  }

  // Tensors often share a storage, next to each other: the latest is kept.
  const std::vector<std::byte>& load(const PickledTensor& tensor) {
    if (tensor.key == key_ && !latest_.empty()) return latest_;
    const Record* record = find("data/" + tensor.key);
    if (record == nullptr) corrupt(tensor, "its storage '" + tensor.key + "' is missing");
    latest_ = read_checked(file_, *record, path_);
    key_ = tensor.key;
    return latest_;
  }

  std::span<const std::byte> file_;
  std::string root_;
  const std::string& path_;
  std::unordered_map<std::string, const Record*> by_name_;
  std::string key_;
  std::vector<std::byte> latest_;
};

}  // namespace

std::vector<NamedTensor> read_torch_save(std::span<const std::byte> file,
                                         const std::vector<Record>& records, const Record& pickle,
                                         const std::string& path) {
  const std::string root = pickle.name.substr(0, pickle.name.find('/') + 1);
  StorageReader storages(file, records, root, path);
  if (storages.find("constants.pkl") != nullptr) {
    refuse_data(path, "is a TorchScript archive, not a saved tensor",
                "save tensors with torch.save");
  }
  if (const Record* order = storages.find("byteorder")) {
    const std::vector<std::byte> text = read_checked(file, *order, path);
    const std::string_view value(reinterpret_cast<const char*>(text.data()), text.size());
    if (value != "little") {
      refuse_data(path, "holds numbers in byte order '" + std::string(value) + "'",
                  "save it on a little-endian machine");
    }
  }
  const std::vector<std::byte> code = read_checked(file, pickle, path);
  std::vector<NamedTensor> tensors;
  for (const PickledTensor& tensor : read_pickled_tensors(code, path)) {
    tensors.push_back({tensor.name, storages.read(tensor)});
  }
  if (tensors.empty())
    refuse_data(path, "holds no tensors", "save a tensor, or a dict, list or tuple of tensors");
  return tensors;
}

}  // namespace lowwater
