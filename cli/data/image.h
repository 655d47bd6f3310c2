// PNG and JPEG to numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/data.h"

namespace lowwater {

// Row-major, channels last, as the file has them: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA.
struct Pixels {
  int width = 0, height = 0, channels = 0;
  int bits = 8;  // or 16
  std::vector<std::uint16_t> values;
};

Pixels decode_png(std::span<const std::byte> file, const std::string& path);
// Refuses by name where lowwater was built without libjpeg.
Pixels decode_jpeg(std::span<const std::byte> file, const std::string& path);

// To float32 [1, channels, height, width]. Colour becomes grey by the luma
// weights of ITU-R 601, grey becomes colour by repetition, alpha is left out
// where it is not wanted; it is never invented.
HostTensor to_tensor(const Pixels& pixels, const ImageOptions& options, const std::string& path);

}  // namespace lowwater
