#include "data/image.h"

#include <cstring>

#include "data/refuse.h"
#include "data/strided.h"

namespace lowwater {
namespace {

constexpr const char* kChannelNames[] = {"", "grey", "grey and alpha", "RGB", "RGBA"};

// Channels of the tensor: as wanted, or as in the file without a lone alpha.
int choose_channels(const Pixels& pixels, int wanted, const std::string& path) {
  if (wanted == 0) return pixels.channels == 2 ? 1 : pixels.channels;
  const bool possible = wanted == 1 || wanted == 3 || (wanted == 4 && pixels.channels == 4);
  if (!possible) {
    refuse_data(path,
                std::string("is ") + kChannelNames[pixels.channels] + ", which does not give " +
                    std::to_string(wanted) + " channels",
                "convert it, or give a .npy array");
  }
  return wanted;
}

// One channel of one pixel, in the file's integers.
std::uint32_t channel_of(const std::uint16_t* pixel, int stored, int channels, int channel) {
  const bool colour = stored >= 3;
  if (channels == 1 && colour) {  // luma, rounded, in units of 1/65536
    return (19595U * pixel[0] + 38470U * pixel[1] + 7471U * pixel[2] + 0x8000U) >> 16;
  }
  return pixel[colour ? channel : 0];
}

double per_channel(const std::vector<double>& values, int channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

void check_count(const std::vector<double>& values, const char* what, int channels,
                 const std::string& path) {
  if (values.size() > 1 && values.size() != static_cast<std::size_t>(channels)) {
    refuse_data(path,
                std::string(what) + " has " + std::to_string(values.size()) +
                    " numbers, the image " + std::to_string(channels) + " channels",
                "give one number, or one per channel");
  }
}

}  // namespace

HostTensor to_tensor(const Pixels& pixels, const ImageOptions& options, const std::string& path) {
  const int channels = choose_channels(pixels, options.channels, path);
  check_count(options.mean, "the mean", channels, path);
  check_count(options.std, "the standard deviation", channels, path);
  HostTensor tensor{DType::f32, {1, channels, pixels.height, pixels.width}, {}};
  const std::size_t area =
      static_cast<std::size_t>(pixels.width) * static_cast<std::size_t>(pixels.height);
  tensor.bytes = make_bytes(
      static_cast<std::int64_t>(area * static_cast<std::size_t>(channels) * sizeof(float)), path);
  const double unit = pixels.bits == 16 ? 1.0 / 257 : 1.0;
  std::byte* to = tensor.bytes.data();
  for (int channel = 0; channel < channels; ++channel) {
    const double mean = per_channel(options.mean, channel, 0),
                 std = per_channel(options.std, channel, 1);
    if (std == 0) refuse_data(path, "a standard deviation of 0 was given", "give numbers above 0");
    const std::uint16_t* pixel = pixels.values.data();
    for (std::size_t i = 0; i < area; ++i, pixel += pixels.channels, to += sizeof(float)) {
      const double raw = channel_of(pixel, pixels.channels, channels, channel) * unit;
      const auto value = static_cast<float>((raw * options.scale - mean) / std);
      std::memcpy(to, &value, sizeof value);
    }
  }
  return tensor;
}

}  // namespace lowwater
