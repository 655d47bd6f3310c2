// A memory-mapped reader for ZIP64 files, the container of a .pt2 archive.
//
// Nothing is copied: a stored entry is a window into the mapping. Layout read:
//
//   [local header | name | extra | payload | descriptor?] ... [central directory] [zip64 end] [end]
//                                  ^ 64-byte aligned in archives that PyTorch writes
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace lowwater {

// One entry of the central directory.
struct Record {
  std::string name;       // as stored, with the root folder
  Bytes offset = 0;       // absolute file offset of the payload
  Bytes stored_size = 0;  // bytes in the file
  Bytes size = 0;         // bytes once inflated; equals stored_size for stored entries
  std::uint32_t crc = 0;  // CRC-32 of the inflated bytes
  bool deflated = false;

  friend bool operator==(const Record&, const Record&) = default;
};

// A read-only mapping of a whole file, shared by everything that points into it.
// On failure to map, throws Error(bad_input) for a missing or unreadable file.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  MappedFile() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Parses the directory of a ZIP file held in `file`. Every offset and size is
// checked against the file before it is used. Throws Error(bad_input) naming
// `path` for anything that is not a sound ZIP file (truncated, foreign,
// encrypted, split, overlapping or out-of-range entries, unknown compression).
std::vector<Record> read_zip_directory(std::span<const std::byte> file, const std::string& path);

// Inflates or copies one record; its size is checked, its CRC is not. Throws
// Error(bad_input) naming `path` and the record if it does not inflate to its size.
std::vector<std::byte> read_record(std::span<const std::byte> file, const Record& record,
                                   const std::string& path = {});

// True if the record's bytes match its CRC. Reads every byte once.
bool crc_matches(std::span<const std::byte> file, const Record& record);

}  // namespace lowwater
