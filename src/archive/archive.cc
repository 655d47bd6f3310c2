#include "archive/archive.h"

#include <mutex>

#include "archive/layout.h"
#include "archive/weight_table.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

// Kernels load whole elements and short vectors. PyTorch aligns payloads to 64
// bytes; an archive that another tool packed again may not.
constexpr Bytes kAlignment = 16;

// What happens at most once per storage.
struct Loaded {
  std::once_flag loading, checking;
  std::vector<std::byte> copy;  // of a deflated or unaligned record
};

std::uint64_t mix(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) {  // FNV-1a
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  }
  return (hash ^ bytes.size()) * 0x100000001b3ULL;
}

[[noreturn]] void refuse_corrupt(const std::string& path, const Record& record) {
  throw Error(ErrorKind::bad_input,
              "record '" + record.name + "' is corrupt: its bytes do not match their CRC", path,
              "copy, download or export the file again");
}

}  // namespace

struct Archive::State {
  std::shared_ptr<const MappedFile> file;
  std::vector<Record> records;
  std::string root, model, program;
  WeightTable weights;
  std::unique_ptr<Loaded[]> loaded;  // parallel to weights.storages

  [[nodiscard]] const Record& record_of(StorageIndex storage) const {
    const WeightStorage& entry = weights.storages.at(static_cast<std::size_t>(storage));
    return records[static_cast<std::size_t>(entry.record)];
  }
  // A small record, checked against its CRC.
  [[nodiscard]] std::string text(const Record& record) const {
    if (!crc_matches(file->bytes(), record)) refuse_corrupt(file->path(), record);
    const std::vector<std::byte> bytes = read_record(file->bytes(), record, file->path());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

namespace {

// Reads a record that must be there.
const Record& require(const Layout& layout, const std::string& name) {
  if (const Record* record = layout.find(name)) return *record;
  throw Error(ErrorKind::bad_input, "record '" + layout.root() + name + "' is missing",
              layout.path(), "export the model again with PyTorch 2.9 or newer");
}

// The small records that say how to read the others, and what each must say.
// A missing one is not an error: archives of other writers may leave it out.
struct Marker {
  const char* record;
  const char* value;
  const char* refusal;
};
constexpr Marker kMarkers[] = {
    {"archive_format", "pt2", "has another archive format than 'pt2': "},
    {"archive_version", "0", "has another archive version than 0: "},
    {"byteorder", "little", "holds numbers in another byte order than little: "},
};

}  // namespace

Archive Archive::open(const std::string& path, const std::string& model) {
  auto state = std::make_shared<State>();
  state->file = MappedFile::open(path);
  const std::span<const std::byte> bytes = state->file->bytes();
  refuse_other_formats(bytes, path);
  state->records = read_zip_directory(bytes, path);
  const Layout layout(state->records, path);
  refuse_other_archives(layout);
  for (const Marker& marker : kMarkers) {
    const Record* record = layout.find(marker.record);
    if (record == nullptr) continue;
    const std::string value = record->size > 64 ? "?" : state->text(*record);
    if (value != marker.value) {
      throw Error(ErrorKind::bad_input, std::string(marker.refusal) + "'" + value + "'", path,
                  "export the model with a PyTorch that lowwater knows (2.9 or newer)");
    }
  }
  for (const Record& record : state->records) {
    if (record.name.ends_with(".json") && !crc_matches(bytes, record)) refuse_corrupt(path, record);
  }
  state->root = layout.root();
  state->model = choose_model(layout, model);
  state->program = state->text(require(layout, "models/" + state->model + ".json"));
  for (const bool constants : {false, true}) {
    const std::string folder = constants ? "data/constants/" : "data/weights/";
    const std::string table =
        folder + state->model + (constants ? "_constants_config.json" : "_weights_config.json");
    add_weights({path, layout.root() + folder, state->text(require(layout, table)), constants},
                state->records, state->weights);
  }
  state->loaded = std::make_unique<Loaded[]>(state->weights.storages.size());
  Archive archive;
  archive.state_ = std::move(state);
  return archive;
}

const std::string& Archive::path() const { return state_->file->path(); }
const std::string& Archive::model() const { return state_->model; }
const std::vector<Record>& Archive::records() const { return state_->records; }
const std::string& Archive::program_json() const { return state_->program; }
const WeightTable& Archive::weights() const { return state_->weights; }

std::span<const std::byte> Archive::storage_bytes(StorageIndex storage, bool check) const {
  const Record& record = state_->record_of(storage);
  const std::span<const std::byte> file = state_->file->bytes();
  Loaded& loaded = state_->loaded[static_cast<std::size_t>(storage)];
  // A throwing initialiser leaves the flag unset: the next call tries again.
  if (check) {
    std::call_once(loaded.checking, [&] {
      if (!crc_matches(file, record)) refuse_corrupt(path(), record);
    });
  }
  if (!record.deflated && record.offset % kAlignment == 0) {
    return file.subspan(static_cast<std::size_t>(record.offset),
                        static_cast<std::size_t>(record.size));
  }
  std::call_once(loaded.loading, [&] { loaded.copy = read_record(file, record, path()); });
  return loaded.copy;
}

std::optional<Bytes> Archive::storage_file_offset(StorageIndex storage) const {
  const Record& record = state_->record_of(storage);
  if (record.deflated) return std::nullopt;
  return record.offset;
}

std::vector<std::string> Archive::check_all() const {
  std::vector<std::string> failed;
  for (const Record& record : state_->records) {
    if (!crc_matches(state_->file->bytes(), record)) failed.push_back(record.name);
  }
  return failed;
}

std::string Archive::fingerprint() const {
  // The root folder is the file's name at export: another name, the same model.
  std::uint64_t hash = mix(0xcbf29ce484222325ULL, state_->program);
  for (const Record& record : state_->records) {
    const std::string_view name = record.name;
    hash = mix(hash, name.starts_with(state_->root) ? name.substr(state_->root.size()) : name);
    hash = mix(hash, std::to_string(record.crc) + ":" + std::to_string(record.size));
  }
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[text.size() - 1 - i] = "0123456789abcdef"[(hash >> (4 * i)) & 0xF];
  }
  return text;
}

}  // namespace lowwater
