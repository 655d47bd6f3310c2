#include <png.h>

#include <csetjmp>
#include <cstring>

#include "data/image.h"
#include "data/refuse.h"

namespace lowwater {
namespace {

// DEFLATE expands by at most 1032: a bound on what a file can really hold.
constexpr std::uint64_t kLargestRatio = 1032;

// What libpng's callbacks reach. Errors leave libpng by longjmp, so no object
// with a destructor may live in a function that calls it between setjmp and the jump.
struct Reader {
  std::span<const std::byte> rest;
  char error[128] = "";
  std::jmp_buf jump;
};

void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->error, message, sizeof reader->error - 1);
  std::longjmp(reader->jump, 1);
}
void on_warning(png_structp, png_const_charp) {}  // colour profiles and such: no pixel changes

void on_read(png_structp png, png_bytep to, std::size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->rest.size()) png_error(png, "truncated");
  std::memcpy(to, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

// Everything to 8 or 16 bits of grey or RGB, with alpha where the file has some.
// No gamma correction: the numbers of the file count.
bool read_header(Reader& reader, png_structp png, png_infop info, Pixels& pixels) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_info(png, info);
  if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (png_get_valid(png, info, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(png);
  if (png_get_bit_depth(png, info) == 16) png_set_swap(png);  // PNG is big-endian
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  pixels.width = static_cast<int>(png_get_image_width(png, info));
  pixels.height = static_cast<int>(png_get_image_height(png, info));
  pixels.channels = png_get_channels(png, info);
  pixels.bits = png_get_bit_depth(png, info);
  return true;
}

bool read_rows(Reader& reader, png_structp png, png_bytep* rows) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

// The structs of libpng, freed on every way out.
struct Structs {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Structs() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void refuse_png(const std::string& path, const std::string& what) {
  refuse_data(path, "is not a sound PNG image (" + what + ")", "save or copy the image again");
}

void to_values(const std::vector<png_byte>& raw, Pixels& pixels) {
  if (pixels.bits == 16) {
    pixels.values.resize(raw.size() / 2);
    std::memcpy(pixels.values.data(), raw.data(), raw.size());
  } else {
    pixels.values.assign(raw.begin(), raw.end());
  }
}

}  // namespace

Pixels decode_png(std::span<const std::byte> file, const std::string& path) {
  Reader reader{.rest = file};
  Structs structs;
  structs.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (structs.png != nullptr) structs.info = png_create_info_struct(structs.png);
  if (structs.info == nullptr)
    throw Error(ErrorKind::machine, "no memory to decode it", path, "free memory on this machine");
  png_set_read_fn(structs.png, &reader, on_read);

  Pixels pixels;
  if (!read_header(reader, structs.png, structs.info, pixels)) refuse_png(path, reader.error);
  const std::uint64_t row = png_get_rowbytes(structs.png, structs.info);
  const std::uint64_t size = row * static_cast<std::uint64_t>(pixels.height);
  // Packed pixels of less than a byte widen by up to 8, palettes to RGBA by 4 more.
  if (size / (kLargestRatio * 32) > file.size()) refuse_png(path, "its size is impossible");
  std::vector<png_byte> raw(size);
  std::vector<png_bytep> rows;
  for (std::uint64_t y = 0; y < static_cast<std::uint64_t>(pixels.height); ++y)
    rows.push_back(raw.data() + y * row);
  if (!read_rows(reader, structs.png, rows.data())) refuse_png(path, reader.error);
  to_values(raw, pixels);
  return pixels;
}

}  // namespace lowwater
