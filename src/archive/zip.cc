// The directory of a ZIP file. Reading starts at the end:
//
//   end record -> (locator -> zip64 end record ->) central directory -> local headers
#include "archive/zip.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "lowwater/error.h"

namespace lowwater {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are read as they are stored");

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kLocalSignature = 0x04034b50;
constexpr u32 kCentralSignature = 0x02014b50;
constexpr u32 kEndSignature = 0x06054b50;
constexpr u32 kEnd64Signature = 0x06064b50;
constexpr u32 kLocatorSignature = 0x07064b50;

constexpr u64 kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr u64 kLongestComment = 0xFFFF;

// A 16- or 32-bit field of all ones says: the value stands in the zip64 record.
constexpr u16 kSee64Short = 0xFFFF;
constexpr u32 kSee64 = 0xFFFFFFFF;

// DEFLATE expands by at most 1032 (a match of 258 bytes takes two bits).
constexpr u64 kLargestRatio = 1032;

// The file, with every access checked.
class Fields {
 public:
  Fields(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  [[nodiscard]] u64 size() const { return file_.size(); }
  [[nodiscard]] bool holds(u64 at, u64 length) const {
    return at <= file_.size() && length <= file_.size() - at;
  }
  template <class T>
  [[nodiscard]] T get(u64 at) const {
    require(at, sizeof(T));
    T value{};
    std::memcpy(&value, file_.data() + at, sizeof(T));
    return value;
  }
  [[nodiscard]] std::string_view text(u64 at, u64 length) const {
    require(at, length);
    return {reinterpret_cast<const char*>(file_.data() + at), length};
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::bad_input, what, path_, "copy, download or export the file again");
  }

 private:
  void require(u64 at, u64 length) const {
    if (!holds(at, length)) refuse("the ZIP file is truncated or corrupt: a field lies outside it");
  }

  std::span<const std::byte> file_;
  const std::string& path_;
};

struct Directory {
  u64 offset = 0, size = 0, count = 0;
};

bool agrees(u64 wide, u64 narrow, u64 see64) { return narrow == see64 || narrow == wide; }

// Replaces `directory` by what the zip64 end record says; returns that record's
// position, or nothing where the locator before `end` leads nowhere.
std::optional<u64> read_end64(const Fields& file, u64 end, Directory& directory) {
  const u64 locator = end - kLocatorSize;
  const u64 at = file.get<u64>(locator + 8);
  if (at > locator || locator - at < kEnd64Size || file.get<u32>(at) != kEnd64Signature) return {};
  const auto disks = file.get<u32>(locator + 16);
  if (disks > 1 || file.get<u32>(at + 16) != 0 || file.get<u32>(at + 20) != 0) {
    file.refuse("is one part of a split ZIP file; only whole ones can be read");
  }
  const Directory wide{file.get<u64>(at + 48), file.get<u64>(at + 40), file.get<u64>(at + 32)};
  if (!agrees(wide.offset, directory.offset, kSee64) ||
      !agrees(wide.size, directory.size, kSee64) ||
      !agrees(wide.count, directory.count, kSee64Short)) {
    return {};
  }
  directory = wide;
  return at;
}

// The directory that an end record at `end` describes, if one stands there:
// it must end exactly where the end record (or its zip64 form) begins.
std::optional<Directory> directory_before(const Fields& file, u64 end) {
  if (file.get<u32>(end) != kEndSignature) return {};
  if (!file.holds(end + kEndSize, file.get<u16>(end + 20))) return {};
  Directory directory{file.get<u32>(end + 16), file.get<u32>(end + 12), file.get<u16>(end + 10)};
  u64 stop = end;
  if (end >= kLocatorSize && file.get<u32>(end - kLocatorSize) == kLocatorSignature) {
    const std::optional<u64> end64 = read_end64(file, end, directory);
    if (!end64) return {};
    stop = *end64;
  }
  if (directory.offset > stop || stop - directory.offset != directory.size) return {};
  const auto disk = file.get<u16>(end + 4), first_disk = file.get<u16>(end + 6);
  if ((disk != 0 && disk != kSee64Short) || (first_disk != 0 && first_disk != kSee64Short)) {
    file.refuse("is one part of a split ZIP file; only whole ones can be read");
  }
  return directory;
}

// Looks for the end record from the end of the file backwards, past a comment
// or trailing junk of up to 64 KiB.
Directory find_directory(const Fields& file) {
  bool end_seen = false;
  if (file.size() >= kEndSize) {
    const u64 last = file.size() - kEndSize;
    const u64 first = last - std::min(last, kLongestComment);
    for (u64 at = last + 1; at-- > first;) {
      if (const auto directory = directory_before(file, at)) return *directory;
      end_seen |= file.get<u32>(at) == kEndSignature;
    }
  }
  const bool begins_as_zip = file.holds(0, 4) && file.get<u32>(0) == kLocalSignature;
  if (end_seen) file.refuse("the ZIP file is corrupt: its directory is not where it should be");
  if (begins_as_zip) file.refuse("the ZIP file is truncated: no directory at its end");
  file.refuse("is not a ZIP file");
}

constexpr std::array<std::pair<u16, const char*>, 8> kMethods = {{{1, "shrink"},
                                                                  {6, "implode"},
                                                                  {9, "Deflate64"},
                                                                  {12, "bzip2"},
                                                                  {14, "LZMA"},
                                                                  {93, "Zstandard"},
                                                                  {95, "xz"},
                                                                  {99, "AES"}}};

std::string method_name(u16 method) {
  for (const auto& [number, name] : kMethods) {
    if (number == method) return name;
  }
  return "method " + std::to_string(method);
}

// A directory entry with its sizes widened from the zip64 extra field.
struct Entry {
  std::string name;
  u64 stored_size = 0, size = 0, header = 0;
  u32 crc = 0;
  u16 flags = 0, method = 0;
};

// The zip64 extra field holds, in this order, only the values that are
// saturated in the entry itself.
void widen(const Fields& file, u64 extra, u64 length, Entry& entry) {
  std::array<u64*, 3> wanted = {&entry.size, &entry.stored_size, &entry.header};
  if (std::ranges::none_of(wanted, [](const u64* field) { return *field == kSee64; })) return;
  for (const u64 stop = extra + length; stop - extra >= 4;) {
    const auto id = file.get<u16>(extra);
    const u64 size = file.get<u16>(extra + 2);
    if (size > stop - extra - 4) break;
    if (id == 1) {
      u64 at = extra + 4;
      for (u64* field : wanted) {
        if (*field != kSee64) continue;
        if (at + 8 > extra + 4 + size)
          file.refuse("zip64 sizes of '" + entry.name + "' are missing");
        *field = file.get<u64>(at);
        at += 8;
      }
      return;
    }
    extra += 4 + size;
  }
  // No such field: the saturated values are meant as they stand, and checked as any other.
}

void refuse_unreadable(const Fields& file, const Entry& entry, u16 disk) {
  if ((entry.flags & 0x2041) != 0) file.refuse("record '" + entry.name + "' is encrypted");
  if ((entry.flags & 0x20) != 0) file.refuse("record '" + entry.name + "' is patch data");
  if (disk != 0) file.refuse("record '" + entry.name + "' is in another part of a split ZIP file");
  if (entry.method != 0 && entry.method != 8) {
    file.refuse("record '" + entry.name + "' is compressed with " + method_name(entry.method) +
                "; only stored and DEFLATE records can be read");
  }
}

Entry read_entry(const Fields& file, u64& at, u64 stop) {
  if (stop - at < kCentralSize || file.get<u32>(at) != kCentralSignature) {
    file.refuse("the ZIP directory is corrupt");
  }
  const u64 name = file.get<u16>(at + 28), extra = file.get<u16>(at + 30),
            comment = file.get<u16>(at + 32);
  if (stop - at - kCentralSize < name + extra + comment)
    file.refuse("the ZIP directory is corrupt");
  Entry entry{.name = std::string(file.text(at + kCentralSize, name)),
              .stored_size = file.get<u32>(at + 20),
              .size = file.get<u32>(at + 24),
              .header = file.get<u32>(at + 42),
              .crc = file.get<u32>(at + 16),
              .flags = file.get<u16>(at + 8),
              .method = file.get<u16>(at + 10)};
  const auto disk = file.get<u16>(at + 34);
  if (entry.name.empty()) file.refuse("the ZIP directory holds a record without a name");
  widen(file, at + kCentralSize + name, extra, entry);
  refuse_unreadable(file, entry, disk == kSee64Short ? u16{0} : disk);
  at += kCentralSize + name + extra + comment;
  return entry;
}

// Follows an entry to its local header; the payload begins behind that
// header's own name and extra field, whose lengths the directory does not know.
Record locate(const Fields& file, const Entry& entry, u64 payloads_end) {
  const auto corrupt = [&](const std::string& what) {
    file.refuse("record '" + entry.name + "' is corrupt: " + what);
  };
  const u64 header = entry.header;
  if (header > payloads_end || payloads_end - header < kLocalSize ||
      file.get<u32>(header) != kLocalSignature) {
    corrupt("no local header where the directory says");
  }
  const u64 name = file.get<u16>(header + 26), extra = file.get<u16>(header + 28);
  const u64 payload = header + kLocalSize + name + extra;
  if (payload > payloads_end || payloads_end - payload < entry.stored_size) {
    corrupt("its bytes lie outside the file");
  }
  if (file.text(header + kLocalSize, name) != entry.name) corrupt("its two names differ");
  if (file.get<u16>(header + 8) != entry.method) corrupt("its two compression methods differ");
  const bool deflated = entry.method == 8;
  if (!deflated && entry.size != entry.stored_size) corrupt("its two sizes differ");
  if (deflated && entry.size / kLargestRatio > entry.stored_size) {
    corrupt("it claims more bytes than its compressed ones can hold");
  }
  return {.name = entry.name,
          .offset = static_cast<Bytes>(payload),
          .stored_size = static_cast<Bytes>(entry.stored_size),
          .size = static_cast<Bytes>(entry.size),
          .crc = entry.crc,
          .deflated = deflated};
}

// Two records over the same bytes are how small files claim to be huge.
void refuse_overlaps(const Fields& file, std::vector<std::pair<u64, u64>> ranges) {
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) file.refuse("two records of the ZIP file overlap");
  }
}

}  // namespace

std::vector<Record> read_zip_directory(std::span<const std::byte> bytes, const std::string& path) {
  const Fields file(bytes, path);
  const Directory directory = find_directory(file);
  if (directory.count > directory.size / kCentralSize) file.refuse("the ZIP directory is corrupt");

  std::vector<Record> records;
  std::vector<std::pair<u64, u64>> ranges;
  std::unordered_set<std::string> names;
  records.reserve(directory.count);
  const u64 stop = directory.offset + directory.size;
  u64 at = directory.offset;
  for (u64 i = 0; i < directory.count; ++i) {
    const Entry entry = read_entry(file, at, stop);
    if (!names.insert(entry.name).second) {
      file.refuse("the ZIP file holds two records named '" + entry.name + "'");
    }
    records.push_back(locate(file, entry, directory.offset));
    ranges.emplace_back(entry.header, records.back().offset + records.back().stored_size);
  }
  if (at != stop) file.refuse("the ZIP directory is corrupt: it holds more than it counts");
  refuse_overlaps(file, std::move(ranges));
  return records;
}

}  // namespace lowwater
