#include "data/image.h"
#include "data/refuse.h"

#ifdef LOWWATER_JPEG
#include <jpeglib.h>  // needs <cstdio> before it

#include <csetjmp>
#include <cstdio>

namespace lowwater {
namespace {

// What libjpeg's callbacks reach; `base` comes first, so that its address is ours.
struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};

void on_error(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<Errors*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->text);
  std::longjmp(errors->jump, 1);
}
// Level -1 is damaged data, which libjpeg would fill with grey.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) on_error(jpeg);
}

// Errors leave libjpeg by longjmp: nothing with a destructor may live in these two.
bool read_header(jpeg_decompress_struct& jpeg, Errors& errors, std::span<const std::byte> file) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  return true;
}

bool read_row(jpeg_decompress_struct& jpeg, Errors& errors, JSAMPLE* row) {
  if (setjmp(errors.jump) != 0) return false;
  if (jpeg.output_width == 0) jpeg_start_decompress(&jpeg);
  jpeg_read_scanlines(&jpeg, &row, 1);
  return true;
}

bool finish(jpeg_decompress_struct& jpeg, Errors& errors) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_finish_decompress(&jpeg);
  return true;
}

// Freed on every way out.
struct Decoder {
  jpeg_decompress_struct jpeg{};
  Errors errors{};
  Decoder() {
    jpeg.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = on_error;
    errors.base.emit_message = on_message;
    jpeg_create_decompress(&jpeg);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&jpeg); }
};

}  // namespace

Pixels decode_jpeg(std::span<const std::byte> file, const std::string& path) {
  Decoder decoder;
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  const auto refuse = [&]() {
    refuse_data(path, std::string("is not a sound JPEG image (") + decoder.errors.text + ")",
                "save or copy the image again");
  };
  if (!read_header(jpeg, decoder.errors, file)) refuse();
  if (jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK) {
    refuse_data(path, "is a CMYK JPEG", "convert it to RGB");
  }
  jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  Pixels pixels{.width = static_cast<int>(jpeg.image_width),
                .height = static_cast<int>(jpeg.image_height),
                .channels = jpeg.num_components == 1 ? 1 : 3,
                .values = {}};
  // Row by row: memory follows what could be decoded, not what the header claims.
  std::vector<JSAMPLE> row(static_cast<std::size_t>(pixels.width) *
                           static_cast<std::size_t>(pixels.channels));
  for (int y = 0; y < pixels.height; ++y) {
    if (!read_row(jpeg, decoder.errors, row.data())) refuse();
    pixels.values.insert(pixels.values.end(), row.begin(), row.end());
  }
  if (!finish(jpeg, decoder.errors)) refuse();
  return pixels;
}

}  // namespace lowwater

#else

namespace lowwater {

Pixels decode_jpeg(std::span<const std::byte>, const std::string& path) {
  refuse_data(path, "is a JPEG image, and lowwater was built without libjpeg",
              "convert it to PNG, or install libjpeg and build again");
}

}  // namespace lowwater
#endif
