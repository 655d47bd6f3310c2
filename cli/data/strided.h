// Copies a strided view row by row into row-major memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lowwater {

// Bytes of `sizes` elements; nothing where a size is negative or it overflows.
std::optional<std::int64_t> checked_bytes(std::span<const std::int64_t> sizes,
                                          std::int64_t element);

// `strides` in elements; the caller has checked that the view lies in `from`.
std::vector<std::byte> gather(const std::byte* from, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides, std::int64_t element);

// A vector of `bytes` zeros; Error(machine) naming `where` if there is no memory.
std::vector<std::byte> make_bytes(std::int64_t bytes, const std::string& where);

}  // namespace lowwater
