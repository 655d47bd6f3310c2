#include "data/zipped.h"

#include <algorithm>

#include "data/npy.h"
#include "data/refuse.h"

namespace lowwater {
namespace {

constexpr std::string_view kArray = ".npy", kPickle = "/data.pkl";

// <root>/data.pkl, not deeper.
const Record* find_pickle(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (record.name.ends_with(kPickle) &&
        record.name.find('/') == record.name.size() - kPickle.size())
      return &record;
  }
  return nullptr;
}

std::vector<NamedTensor> read_npz(std::span<const std::byte> file,
                                  const std::vector<Record>& records, const std::string& path) {
  if (records.empty()) refuse_data(path, "holds no arrays", "save at least one with numpy.savez");
  std::vector<NamedTensor> arrays;
  for (const Record& record : records) {
    if (!record.name.ends_with(kArray)) {
      refuse_data(path,
                  "is a ZIP file, but neither .npz nor torch.save: it holds '" + record.name + "'",
                  "give .npy, .npz, .pt, PNG or JPEG files");
    }
    const std::string name = record.name.substr(0, record.name.size() - kArray.size());
    const std::vector<std::byte> bytes = read_checked(file, record, path);
    std::string where = path;
    where.append(" (array '").append(name).append("')");
    arrays.push_back({name, read_npy(bytes, where)});
  }
  return arrays;
}

}  // namespace

std::vector<std::byte> read_checked(std::span<const std::byte> file, const Record& record,
                                    const std::string& path) {
  std::vector<std::byte> bytes = read_record(file, record, path);
  if (!crc_matches(file, record)) {
    refuse_data(path, "record '" + record.name + "' is corrupt: its bytes do not match their CRC",
                "copy or save the file again");
  }
  return bytes;
}

std::vector<NamedTensor> read_zipped(std::span<const std::byte> file, const std::string& path) {
  const std::vector<Record> records = read_zip_directory(file, path);
  const Record* pickle = find_pickle(records);
  return pickle != nullptr ? read_torch_save(file, records, *pickle, path)
                           : read_npz(file, records, path);
}

}  // namespace lowwater
