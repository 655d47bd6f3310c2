// Sizes in bytes, read from and printed for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lowwater {

using Bytes = std::int64_t;

inline constexpr Bytes kKiB = 1024;
inline constexpr Bytes kMiB = 1024 * kKiB;
inline constexpr Bytes kGiB = 1024 * kMiB;

// "1.5GiB", "800MB" (10^6), "4096" (bytes), "0.5 KiB". Throws Error(bad_input)
// on anything else: negative, overflow, unknown unit, trailing text.
Bytes parse_bytes(std::string_view text);

// "0 B", "512 B", "1.50 MiB", "12.3 GiB": binary units, three significant digits.
std::string format_bytes(Bytes bytes);

// Rounds up to a multiple of `alignment`, a power of two.
constexpr Bytes align_up(Bytes bytes, Bytes alignment) {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

}  // namespace lowwater
