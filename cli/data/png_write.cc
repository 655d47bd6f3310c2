#include <png.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <memory>

#include "data/data.h"
#include "data/files.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr std::int64_t kLargestSide = 1'000'000;  // libpng's own limit

[[noreturn]] void refuse(const std::string& path, const std::string& what,
                         const std::string& hint) {
  throw Error(ErrorKind::unsupported, what, path, hint);
}

struct Labels {
  std::int64_t width = 0, height = 0;
  std::int64_t smallest = 0, largest = 0;
  std::vector<std::int64_t> values;
};

template <class T>
std::vector<std::int64_t> values_of(const HostTensor& tensor) {
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    values[i] =
        static_cast<std::int64_t>(value);  // NOLINT(bugprone-signed-char-misuse): -1 stays -1
  }
  return values;
}

std::vector<std::int64_t> integers_of(const HostTensor& tensor, const std::string& path) {
  switch (tensor.dtype) {
    case DType::boolean:
    case DType::u8:
      return values_of<std::uint8_t>(tensor);
    case DType::i8:
      return values_of<std::int8_t>(tensor);
    case DType::u16:
      return values_of<std::uint16_t>(tensor);
    case DType::i16:
      return values_of<std::int16_t>(tensor);
    case DType::i32:
      return values_of<std::int32_t>(tensor);
    case DType::i64:
      return values_of<std::int64_t>(tensor);
    default:
      refuse(path,
             "an output of type " + std::string(dtype_name(tensor.dtype)) + " is no label map",
             "let the model end in argmax or a threshold, or write .npy");
  }
}

Labels labels_of(const HostTensor& tensor, const std::string& path) {
  Labels labels;
  const std::size_t rank = tensor.sizes.size();
  const bool flat = rank >= 2 && std::all_of(tensor.sizes.begin(), tensor.sizes.end() - 2,
                                             [](std::int64_t n) { return n == 1; });
  if (flat) {
    labels.height = tensor.sizes[rank - 2];
    labels.width = tensor.sizes[rank - 1];
  }
  if (labels.height < 1 || labels.width < 1 ||
      std::max(labels.height, labels.width) > kLargestSide) {
    std::string sizes;
    for (const std::int64_t size : tensor.sizes)
      sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
    refuse(path,
           "an output of size " + (sizes.empty() ? "1" : sizes) +
               " is no label map (1 x ... x height x width)",
           "write .npy");
  }
  labels.values = integers_of(tensor, path);
  const auto [low, high] = std::minmax_element(labels.values.begin(), labels.values.end());
  labels.smallest = *low;
  labels.largest = *high;
  if (labels.smallest < 0 || labels.largest > 0xFFFF) {
    refuse(path,
           "the label " + std::to_string(labels.smallest < 0 ? labels.smallest : labels.largest) +
               " does not fit in 16 bits of grey",
           "write .npy");
  }
  return labels;
}

// Rows as PNG has them: one byte, or two with the upper one first.
std::vector<png_byte> rows_of(const Labels& labels, int bits) {
  std::vector<png_byte> rows;
  rows.reserve(labels.values.size() * static_cast<std::size_t>(bits / 8));
  for (const std::int64_t value : labels.values) {
    if (bits == 16) rows.push_back(static_cast<png_byte>(value >> 8));
    rows.push_back(static_cast<png_byte>(value & 0xFF));
  }
  return rows;
}

void on_error(png_structp png, png_const_charp) {
  std::longjmp(*static_cast<std::jmp_buf*>(png_get_error_ptr(png)), 1);
}
void on_warning(png_structp, png_const_charp) {}

// Errors leave libpng by longjmp: nothing with a destructor may live in here.
bool encode(std::FILE* file, const png_byte* rows, png_uint_32 width, png_uint_32 height,
            int bits) {
  std::jmp_buf jump;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &jump, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info != nullptr && setjmp(jump) == 0) {
    png_init_io(png, file);
    png_set_IHDR(png, info, width, height, bits, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    const std::size_t row = static_cast<std::size_t>(width) * static_cast<std::size_t>(bits / 8);
    for (png_uint_32 y = 0; y < height; ++y) png_write_row(png, rows + y * row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
  }
  png_destroy_write_struct(&png, &info);
  return false;
}

}  // namespace

void write_label_png(const std::string& path, const HostTensor& tensor) {
  const Labels labels = labels_of(tensor, path);
  const int bits = labels.largest > 0xFF ? 16 : 8;
  const std::vector<png_byte> rows = rows_of(labels, bits);
  write_aside(path, [&](const std::string& aside) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(aside.c_str(), "wb"),
                                                         &std::fclose);
    // Buffered bytes meet a full disk only when the file is closed.
    if (!file ||
        !encode(file.get(), rows.data(), static_cast<png_uint_32>(labels.width),
                static_cast<png_uint_32>(labels.height), bits) ||
        std::fclose(file.release()) != 0) {
      throw Error(ErrorKind::machine, std::string("cannot be written: ") + std::strerror(errno),
                  path, "is there space, and may you write there?");
    }
  });
}

}  // namespace lowwater
