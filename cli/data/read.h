// read_tensors() on bytes that are already in memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/data.h"

namespace lowwater {

std::vector<NamedTensor> decode_tensors(std::span<const std::byte> file, const std::string& path,
                                        const ImageOptions& image);

}  // namespace lowwater
