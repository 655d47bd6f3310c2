// A .pt2 archive: its records, its program JSON, and the table of its weights.
//
//   <root>/archive_format, archive_version
//   <root>/models/<model>.json                      the exported program
//   <root>/data/weights/<model>_weights_config.json name -> record, sizes, strides, offset
//   <root>/data/weights/weight_<i>                  one whole storage, raw bytes
//   <root>/data/constants/...                       likewise: constants, non-persistent buffers
//
// The root folder's name is whatever the first entry says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/zip.h"
#include "base/bytes.h"
#include "base/dtype.h"

namespace lowwater {

// Index into WeightTable::storages. Tied weights share one.
using StorageIndex = std::int32_t;
// Index into WeightTable::weights.
using WeightId = std::int32_t;

// The bytes of one record that holds a tensor storage.
struct WeightStorage {
  std::int32_t record = -1;  // index into Archive::records()
  Bytes size = 0;            // bytes once inflated
};

enum class WeightKind : std::uint8_t { parameter, buffer, constant };

// A named view of a storage.
struct Weight {
  std::string name;  // fully qualified: "layer1.0.conv1.weight"
  WeightKind kind = WeightKind::parameter;
  StorageIndex storage = -1;
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in elements
  std::int64_t storage_offset = 0;    // in elements
};

struct WeightTable {
  std::vector<WeightStorage> storages;
  std::vector<Weight> weights;
  std::unordered_map<std::string, WeightId> by_name;

  [[nodiscard]] std::optional<WeightId> find(const std::string& name) const;
  // Bytes of all storages: what is on disk once.
  [[nodiscard]] Bytes total_bytes() const;
};

// An opened archive. Cheap to copy; the mapping lives as long as any copy.
class Archive {
 public:
  // Opens and checks the directory and the CRC of every JSON record, not of
  // weights. Throws Error(bad_input) for a missing, truncated, corrupt or
  // foreign file, for a wrong archive version, for payloads outside the file.
  // `model` may be empty if the archive holds exactly one.
  static Archive open(const std::string& path, const std::string& model = {});

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const std::string& model() const;  // "model"
  [[nodiscard]] const std::vector<Record>& records() const;
  [[nodiscard]] const std::string& program_json() const;  // models/<model>.json
  [[nodiscard]] const WeightTable& weights() const;

  // The whole storage's bytes: a window of the mapping for stored records,
  // an inflated copy (kept for the archive's life) otherwise. The CRC is
  // checked at the first read of each storage unless `check` is false;
  // a mismatch throws Error(bad_input) naming the record. Thread-safe.
  [[nodiscard]] std::span<const std::byte> storage_bytes(StorageIndex storage,
                                                         bool check = true) const;
  // The file offset of a storage's record if it is stored uncompressed.
  [[nodiscard]] std::optional<Bytes> storage_file_offset(StorageIndex storage) const;

  // Reads every byte of every record; returns the names of those that fail.
  [[nodiscard]] std::vector<std::string> check_all() const;

  // Hash of the program JSON and of the directory's names, CRCs and sizes:
  // identifies the model without reading its payload. 16 hex digits or more.
  [[nodiscard]] std::string fingerprint() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lowwater
