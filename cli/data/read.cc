// Which reader a file needs shows in its first bytes, never in its name.
#include "data/read.h"

#include <array>
#include <string_view>

#include "data/image.h"
#include "data/npy.h"
#include "data/refuse.h"
#include "data/zipped.h"

namespace lowwater {
namespace {

using namespace std::string_view_literals;

struct Foreign {
  std::string_view magic;
  const char* what;
  const char* hint;
};

constexpr std::array<Foreign, 9> kForeign = {{
    {"\x80\x02\x8a\nl"sv, "was saved by torch.save of PyTorch 1.5 or older",
     "load it and save it again"},
    {"\x80"sv, "is a Python pickle, which is never run",
     "save a tensor with torch.save, or an array with numpy.save"},
    {"II*\0"sv, "is a TIFF image", "convert it to PNG or .npy"},
    {"MM\0*"sv, "is a TIFF image", "convert it to PNG or .npy"},
    {"GIF8"sv, "is a GIF image", "convert it to PNG"},
    {"BM"sv, "is a BMP image", "convert it to PNG"},
    {"RIFF"sv, "is a WebP image or another RIFF file", "convert it to PNG"},
    {"\x89HDF"sv, "is an HDF5 file", "convert it to .npy"},
    {"\x1f\x8b"sv, "is compressed with gzip (NIfTI files often are)", "convert it to .npy"},
}};

}  // namespace

std::vector<NamedTensor> read_tensors(const std::string& path, const ImageOptions& image) {
  return decode_tensors(MappedFile::open(path)->bytes(), path, image);
}

std::vector<NamedTensor> decode_tensors(std::span<const std::byte> file, const std::string& path,
                                        const ImageOptions& image) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.empty()) refuse_data(path, "is empty", "save or copy the file again");
  if (text.starts_with("\x93NUMPY")) return {{"", read_npy(file, path)}};
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return read_zipped(file, path);
  if (text.starts_with("\x89PNG")) return {{"", to_tensor(decode_png(file, path), image, path)}};
  if (text.starts_with("\xff\xd8\xff"))
    return {{"", to_tensor(decode_jpeg(file, path), image, path)}};
  for (const Foreign& foreign : kForeign) {
    if (text.starts_with(foreign.magic)) refuse_data(path, foreign.what, foreign.hint);
  }
  if (text.size() > 132 && text.substr(128, 4) == "DICM")
    refuse_data(path, "is a DICOM file", "convert it to .npy");
  refuse_data(path, "is not a kind of file that lowwater reads",
              "give .npy, .npz, torch.save, PNG or JPEG files");
}

}  // namespace lowwater
