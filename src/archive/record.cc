// The payload of a record: windows, inflated copies and checksums.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "archive/zip.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

std::span<const std::byte> stored_window(std::span<const std::byte> file, const Record& record) {
  return file.subspan(static_cast<std::size_t>(record.offset),
                      static_cast<std::size_t>(record.stored_size));
}

// Raw DEFLATE, piece by piece: zlib counts in 32 bits.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> input) : rest_(input) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  // Fills `out` as far as the data reaches; returns the bytes written.
  std::size_t read(std::span<std::byte> out) {
    std::size_t written = 0;
    while (status_ == Z_OK && written < out.size()) {
      feed();
      const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - written, kPiece));
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + written);
      stream_.avail_out = room;
      status_ = inflate(&stream_, Z_NO_FLUSH);
      written += room - stream_.avail_out;
    }
    return written;
  }
  // True once the last block ended and no input is left over. Call after the
  // expected bytes were read: the end mark may still be unread then.
  bool finished() {
    std::byte beyond{};
    if (status_ == Z_OK && read({&beyond, 1}) != 0) return false;
    return status_ == Z_STREAM_END && stream_.avail_in == 0 && rest_.empty();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 30;

  void feed() {
    if (stream_.avail_in != 0 || rest_.empty()) return;
    const std::size_t piece = std::min(rest_.size(), kPiece);
    // zlib's interface is not const-correct; it only reads the input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(piece);
    rest_ = rest_.subspan(piece);
  }

  std::span<const std::byte> rest_;
  z_stream stream_{};
  int status_ = Z_OK;
};

uLong extend_crc(uLong crc, std::span<const std::byte> bytes) {
  return crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

}  // namespace

std::vector<std::byte> read_record(std::span<const std::byte> file, const Record& record,
                                   const std::string& path) {
  const std::span<const std::byte> stored = stored_window(file, record);
  try {
    if (!record.deflated) return {stored.begin(), stored.end()};
    std::vector<std::byte> bytes(static_cast<std::size_t>(record.size));
    Inflater inflater(stored);
    if (inflater.read(bytes) != bytes.size() || !inflater.finished()) {
      throw Error(ErrorKind::bad_input,
                  "record '" + record.name + "' is corrupt: its compressed bytes do not give " +
                      std::to_string(record.size) + " bytes",
                  path, "copy, download or export the file again");
    }
    return bytes;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::machine,
                "no memory for record '" + record.name + "' (" + format_bytes(record.size) + ")",
                path, "free memory on this machine");
  }
}

bool crc_matches(std::span<const std::byte> file, const Record& record) {
  const std::span<const std::byte> stored = stored_window(file, record);
  if (!record.deflated) return extend_crc(0, stored) == record.crc;
  std::array<std::byte, 1 << 16> piece{};
  Inflater inflater(stored);
  uLong crc = 0;
  Bytes left = record.size;
  while (left > 0) {
    const auto want = static_cast<std::size_t>(std::min<Bytes>(left, piece.size()));
    if (inflater.read({piece.data(), want}) != want) return false;
    crc = extend_crc(crc, {piece.data(), want});
    left -= static_cast<Bytes>(want);
  }
  return inflater.finished() && crc == record.crc;
}

}  // namespace lowwater
