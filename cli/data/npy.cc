#include "data/npy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "data/refuse.h"
#include "data/strided.h"

namespace lowwater {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 1 << 20;
constexpr Bytes kPiece = 16 * kMiB;  // of a stream

// Hands out the next bytes of an array's file. False at its end.
class Source {
 public:
  virtual ~Source() = default;
  virtual bool read(std::span<std::byte> to) = 0;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> rest) : rest_(rest) {}
  bool read(std::span<std::byte> to) override {
    if (to.size() > rest_.size()) return false;
    if (!to.empty()) std::memcpy(to.data(), rest_.data(), to.size());
    rest_ = rest_.subspan(to.size());
    return true;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
};

class StreamSource final : public Source {
 public:
  explicit StreamSource(std::FILE* stream) : stream_(stream) {}
  bool read(std::span<std::byte> to) override {
    return std::fread(to.data(), 1, to.size(), stream_) == to.size();
  }

 private:
  std::FILE* stream_;
};

[[noreturn]] void refuse_truncated(const std::string& where) {
  refuse_data(where, "is truncated", "save or copy the array again");
}

NpyHeader read_header(Source& source, const std::string& where) {
  std::array<std::byte, 8> start{};
  if (!source.read(start)) refuse_truncated(where);
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    refuse_data(where, "is not a .npy array", "write it with numpy.save");
  }
  const auto version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) {
    refuse_data(where, "has .npy version " + std::to_string(version) + "; 1 to 3 are known",
                "save it with a usual numpy");
  }
  std::array<std::byte, 4> field{};  // version 1 has two bytes of length, the others four
  if (!source.read(std::span(field).first(version == 1 ? 2 : 4))) refuse_truncated(where);
  std::uint32_t length = 0;
  std::memcpy(&length, field.data(), sizeof length);
  if (length > kLongestHeader)
    refuse_data(where, "its .npy header is corrupt", "save the array again with numpy.save");
  std::string text(length, '\0');
  if (!source.read(std::as_writable_bytes(std::span(text)))) refuse_truncated(where);
  return parse_npy_header(text, where);
}

// Turns each number of `part` bytes around.
void swap_bytes(std::vector<std::byte>& bytes, std::size_t part) {
  for (std::size_t at = 0; part > 1 && at + part <= bytes.size(); at += part) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + part));
  }
}

// `raw` as the file has it -> row-major, native byte order.
HostTensor arrange(NpyHeader header, std::vector<std::byte> raw) {
  const std::int64_t element = element_size(header.dtype);
  if (header.swapped) {
    const bool complex = header.dtype == DType::c64 || header.dtype == DType::c128;
    swap_bytes(raw, static_cast<std::size_t>(complex ? element / 2 : element));
  }
  if (header.fortran && header.sizes.size() > 1) {
    std::vector<std::int64_t> strides(header.sizes.size(), 1);
    for (std::size_t d = 1; d < strides.size(); ++d) {
      strides[d] = strides[d - 1] * std::max<std::int64_t>(header.sizes[d - 1], 1);
    }
    raw = gather(raw.data(), header.sizes, strides, element);
  }
  return {header.dtype, std::move(header.sizes), std::move(raw)};
}

}  // namespace

HostTensor read_npy(std::span<const std::byte> file, const std::string& where) {
  MemorySource source(file);
  NpyHeader header = read_header(source, where);
  const auto left = static_cast<std::int64_t>(source.left());
  if (left < header.bytes) refuse_truncated(where);
  if (left > header.bytes) {
    refuse_data(where,
                "holds " + std::to_string(left - header.bytes) + " bytes more than its shape says",
                "save one array per file");
  }
  std::vector<std::byte> raw = make_bytes(header.bytes, where);
  source.read(raw);
  return arrange(std::move(header), std::move(raw));
}

HostTensor read_npy_stream(std::FILE* stream, const std::string& name) {
  StreamSource source(stream);
  NpyHeader header = read_header(source, name);
  // In pieces: memory follows what arrives, not what the header claims.
  std::vector<std::byte> raw;
  while (static_cast<std::int64_t>(raw.size()) < header.bytes) {
    const std::size_t done = raw.size();
    const auto piece =
        static_cast<std::size_t>(std::min(kPiece, header.bytes - static_cast<std::int64_t>(done)));
    raw.resize(done + piece);
    if (!source.read(std::span(raw).subspan(done))) refuse_truncated(name);
  }
  return arrange(std::move(header), std::move(raw));
}

}  // namespace lowwater
