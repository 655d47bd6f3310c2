// Builds ZIP files byte by byte, so that tests can get every field wrong.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace lowwater::test {

struct ZipEntry {
  std::string name;
  std::string payload;
  bool deflate = false;
  bool descriptor = false;  // sizes and CRC stand behind the payload, as streaming writers do
  bool zip64 = false;       // sizes and offset stand in the extra field
  std::size_t padding = 0;  // bytes of extra field before the payload, at least 4
  std::uint16_t flags = 0;
  int method = -1;         // -1: what `deflate` says
  std::uint64_t hole = 0;  // zero bytes behind the payload, as a hole of a sparse file; needs zip64
};

struct ZipFile {
  std::vector<ZipEntry> entries;
  std::string before, comment, after;
  bool zip64 = false;  // end record with a zip64 record in front

  [[nodiscard]] std::string bytes() const;
  // For files with a hole (at most one): leaves it unwritten.
  void write_sparse(const std::string& path) const;

 private:
  // The file without its hole, which stands at `hole_at`.
  struct Image {
    std::string bytes;
    std::size_t hole_at = 0;
    std::uint64_t hole = 0;
    [[nodiscard]] std::uint64_t position() const { return bytes.size() + hole; }
  };
  [[nodiscard]] Image image() const;
};

namespace detail {

template <class T>
void put(std::string& out, std::type_identity_t<T> value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}

inline std::string deflated(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::uint32_t crc_of(const std::string& text) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

inline void put_name_and_extra(std::string& out, const std::string& name,
                               const std::string& extra) {
  put<std::uint16_t>(out, static_cast<std::uint16_t>(name.size()));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size()));
}

// Version, flags, method, time, date, CRC and both sizes: common to both headers.
inline void put_common(std::string& out, const ZipEntry& entry, std::size_t stored, bool in_local) {
  const bool later = in_local && entry.descriptor;
  const int method = entry.method >= 0 ? entry.method : entry.deflate ? 8 : 0;
  put<std::uint16_t>(out, 20);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entry.flags | (entry.descriptor ? 8 : 0)));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(method));
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, later ? 0 : crc_of(entry.payload));
  const std::uint32_t all_ones = 0xFFFFFFFF;
  put<std::uint32_t>(out, later ? 0 : entry.zip64 ? all_ones : static_cast<std::uint32_t>(stored));
  put<std::uint32_t>(out, later         ? 0
                          : entry.zip64 ? all_ones
                                        : static_cast<std::uint32_t>(entry.payload.size()));
}

}  // namespace detail

inline ZipFile::Image ZipFile::image() const {
  using namespace detail;
  Image image{.bytes = before};
  std::string& out = image.bytes;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const std::string data = entry.deflate ? deflated(entry.payload) : entry.payload;
    const std::uint64_t header = image.position();
    const bool wide = entry.zip64 || header > 0xFFFFFFFE;
    std::string extra64;
    if (wide) {
      put<std::uint16_t>(extra64, 1);
      put<std::uint16_t>(extra64, entry.zip64 ? 24 : 8);
      if (entry.zip64) {
        put<std::uint64_t>(extra64, entry.payload.size() + entry.hole);
        put<std::uint64_t>(extra64, data.size() + entry.hole);
      }
      put<std::uint64_t>(extra64, header);
    }
    std::string padding;
    if (entry.padding >= 4) {
      put<std::uint16_t>(padding, 0x4246);
      put<std::uint16_t>(padding, static_cast<std::uint16_t>(entry.padding - 4));
      padding.append(entry.padding - 4, 'Z');
    }
    out += "PK\3\4";
    put_common(out, entry, data.size(), true);
    put_name_and_extra(out, entry.name, padding);
    out += entry.name + padding + data;
    if (entry.hole > 0) image.hole_at = out.size();
    image.hole += entry.hole;
    if (entry.descriptor) {
      out += "PK\7\10";
      put<std::uint32_t>(out, crc_of(entry.payload));
      put<std::uint32_t>(out, static_cast<std::uint32_t>(data.size()));
      put<std::uint32_t>(out, static_cast<std::uint32_t>(entry.payload.size()));
    }
    directory += "PK\1\2";
    put<std::uint16_t>(directory, 20);
    put_common(directory, entry, data.size(), false);
    put_name_and_extra(directory, entry.name, extra64);
    directory.append(2 + 2 + 2 + 4, '\0');  // comment length, disk, attributes
    put<std::uint32_t>(directory, wide ? 0xFFFFFFFF : static_cast<std::uint32_t>(header));
    directory += entry.name + extra64;
  }
  const std::uint64_t start = image.position();
  out += directory;
  if (zip64) {
    const std::uint64_t end64 = image.position();
    out += "PK\6\6";
    put<std::uint64_t>(out, 44);
    put<std::uint32_t>(out, 45 | 45 << 16);
    put<std::uint64_t>(out, 0);
    for (int i = 0; i < 2; ++i) put<std::uint64_t>(out, entries.size());
    put<std::uint64_t>(out, directory.size());
    put<std::uint64_t>(out, start);
    out += "PK\6\7";
    put<std::uint32_t>(out, 0);
    put<std::uint64_t>(out, end64);
    put<std::uint32_t>(out, 1);
  }
  out += "PK\5\6";
  put<std::uint32_t>(out, 0);
  for (int i = 0; i < 2; ++i)
    put<std::uint16_t>(out, zip64 ? 0xFFFF : static_cast<std::uint16_t>(entries.size()));
  put<std::uint32_t>(out, zip64 ? 0xFFFFFFFF : static_cast<std::uint32_t>(directory.size()));
  put<std::uint32_t>(out, zip64 ? 0xFFFFFFFF : static_cast<std::uint32_t>(start));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(comment.size()));
  out += comment + after;
  return image;
}

inline std::string ZipFile::bytes() const { return image().bytes; }

inline void ZipFile::write_sparse(const std::string& path) const {
  const Image image = this->image();
  std::ofstream file(path, std::ios::binary);
  file << image.bytes.substr(0, image.hole_at);
  file.seekp(static_cast<std::streamoff>(image.hole_at + image.hole));
  file << image.bytes.substr(image.hole_at);
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace lowwater::test
