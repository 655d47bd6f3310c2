#include "archive/weight_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using Json = nlohmann::json;

constexpr int kStridedLayout = 7;  // torch/_export/serde/schema.py, class Layout

// Reads one table; holds what every message needs.
class TableReader {
 public:
  TableReader(const PayloadTable& payloads, const std::vector<Record>& records, WeightTable& table)
      : payloads_(payloads), table_(table) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      record_of_.emplace(records[i].name, static_cast<std::int32_t>(i));
      record_size_.push_back(records[i].size);
    }
    for (std::size_t i = 0; i < table.storages.size(); ++i) {
      storage_of_.emplace(table.storages[i].record, static_cast<StorageIndex>(i));
    }
  }

  void read() {
    Json document = Json::parse(payloads_.json, nullptr, /*allow_exceptions=*/false);
    if (document.is_discarded()) malformed("its table is not JSON");
    const Json& config = field(document, "config");
    if (!config.is_object()) malformed("'config' is not an object");
    for (const auto& [name, payload] : config.items()) {
      weight_ = name;
      add(payload);
    }
  }

 private:
  [[noreturn]] void malformed(const std::string& what) const {
    const std::string subject = weight_.empty() ? payloads_.folder : "weight '" + weight_ + "'";
    throw Error(ErrorKind::bad_input, subject + ": " + what, payloads_.path,
                "export the model again");
  }
  [[noreturn]] void unsupported(const std::string& what, const std::string& hint) const {
    throw Error(ErrorKind::unsupported, "weight '" + weight_ + "' " + what, payloads_.path, hint);
  }

  const Json& field(const Json& object, const char* key) const {
    if (!object.is_object()) malformed("an object was expected");
    const auto found = object.find(key);
    if (found == object.end()) malformed(std::string("'") + key + "' is missing");
    return *found;
  }
  [[nodiscard]] std::int64_t integer(const Json& value) const {
    if (!value.is_number_integer()) malformed("an integer was expected");
    return value.get<std::int64_t>();
  }
  // {"as_int": 3}; weights never have symbolic sizes.
  [[nodiscard]] std::int64_t size(const Json& value) const {
    const std::int64_t number = integer(field(value, "as_int"));
    if (number < 0) malformed("a size, stride or offset is negative");
    return number;
  }
  [[nodiscard]] std::vector<std::int64_t> size_list(const Json& values) const {
    if (!values.is_array()) malformed("a list was expected");
    std::vector<std::int64_t> list;
    for (const Json& value : values) list.push_back(size(value));
    return list;
  }
  [[nodiscard]] bool flag(const Json& value) const {
    if (!value.is_boolean()) malformed("true or false was expected");
    return value.get<bool>();
  }

  void add(const Json& payload) {
    const Json& meta = field(payload, "tensor_meta");
    // A custom object: the program's import refuses it by name if it is used.
    if (meta.is_null()) return;
    if (flag(field(payload, "use_pickle"))) {
      unsupported("is a pickled tensor subclass",
                  "unwrap quantised or distributed tensors before the export");
    }
    Weight weight{.name = weight_};
    if (payloads_.constants)
      weight.kind = WeightKind::constant;
    else
      weight.kind = flag(field(payload, "is_param")) ? WeightKind::parameter : WeightKind::buffer;
    read_view(meta, weight);
    const Json& record = field(payload, "path_name");
    if (!record.is_string()) malformed("'path_name' is not a string");
    weight.storage = storage(payloads_.folder + record.get<std::string>());
    check_inside(weight, table_.storages[static_cast<std::size_t>(weight.storage)].size);
    const auto id = static_cast<WeightId>(table_.weights.size());
    if (!table_.by_name.emplace(weight_, id).second) malformed("it is listed twice");
    table_.weights.push_back(std::move(weight));
  }

  void read_view(const Json& meta, Weight& weight) const {
    const std::int64_t code = integer(field(meta, "dtype"));
    const auto dtype =
        code >= 0 && code < 256 ? dtype_from_archive(static_cast<int>(code)) : std::nullopt;
    if (!dtype) {
      unsupported("has an element type that is not known (number " + std::to_string(code) + ")",
                  "convert it before the export");
    }
    if (integer(field(meta, "layout")) != kStridedLayout) {
      unsupported("is not a dense tensor", "call to_dense() before the export");
    }
    weight.dtype = *dtype;
    weight.sizes = size_list(field(meta, "sizes"));
    weight.strides = size_list(field(meta, "strides"));
    weight.storage_offset = size(field(meta, "storage_offset"));
    if (weight.sizes.size() != weight.strides.size())
      malformed("it has more sizes than strides, or fewer");
  }

  StorageIndex storage(const std::string& record_name) {
    const auto record = record_of_.find(record_name);
    if (record == record_of_.end()) malformed("its record '" + record_name + "' is missing");
    const auto index = static_cast<StorageIndex>(table_.storages.size());
    const auto [entry, added] = storage_of_.emplace(record->second, index);
    if (added) {
      table_.storages.push_back(
          {record->second, record_size_[static_cast<std::size_t>(record->second)]});
    }
    return entry->second;
  }

  void check_inside(const Weight& weight, Bytes storage_size) const {
    if (std::ranges::find(weight.sizes, 0) != weight.sizes.end()) return;  // reads nothing
    if (storage_size == 0) {
      unsupported("has no data in the archive", "export with real weights, not fake ones");
    }
    // The last element's position, in steps that cannot overflow.
    std::int64_t end = weight.storage_offset;
    bool overflow = false;
    for (std::size_t i = 0; i < weight.sizes.size(); ++i) {
      std::int64_t step = 0;
      overflow |= __builtin_mul_overflow(weight.sizes[i] - 1, weight.strides[i], &step);
      overflow |= __builtin_add_overflow(end, step, &end);
    }
    overflow |= __builtin_add_overflow(end, 1, &end);
    overflow |= __builtin_mul_overflow(end, element_size(weight.dtype), &end);
    // A stride of 0 repeats elements, so the count needs a check of its own.
    std::int64_t count = element_size(weight.dtype);
    for (const std::int64_t extent : weight.sizes) {
      overflow |= __builtin_mul_overflow(count, extent, &count);
    }
    if (overflow || end > storage_size) malformed("it reaches beyond the end of its record");
  }

  const PayloadTable& payloads_;
  WeightTable& table_;
  std::unordered_map<std::string, std::int32_t> record_of_;
  std::vector<Bytes> record_size_;
  std::unordered_map<std::int32_t, StorageIndex> storage_of_;
  std::string weight_;  // the one being read
};

}  // namespace

void add_weights(const PayloadTable& payloads, const std::vector<Record>& records,
                 WeightTable& table) {
  TableReader(payloads, records, table).read();
}

std::optional<WeightId> WeightTable::find(const std::string& name) const {
  const auto found = by_name.find(name);
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

Bytes WeightTable::total_bytes() const {
  Bytes total = 0;
  for (const WeightStorage& storage : storages) total += storage.size;
  return total;
}

}  // namespace lowwater
