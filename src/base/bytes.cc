#include "base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lowwater/error.h"

namespace lowwater {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 13> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40},
                                          {"K", 0x1p10},
                                          {"M", 0x1p20},
                                          {"G", 0x1p30},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12}}};

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::bad_input, "'" + std::string(text) + "' is not a size", "",
              "write it as 1.5GiB, 800MB or a plain number of bytes");
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (status != std::errc() || !(number >= 0)) refuse(text);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& candidate : kUnits) {
    if (candidate.name != unit) continue;
    const double bytes = std::round(number * candidate.bytes);
    if (!(bytes < 0x1p62)) refuse(text);
    return static_cast<Bytes>(bytes);
  }
  refuse(text);
}

std::string format_bytes(Bytes bytes) {
  static constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.5 of a unit would print as "1000": three digits, so take the next unit.
  while (std::abs(value) >= 999.5 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const int decimals = unit == 0 || std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, kNames[unit]);
  return text.data();
}

}  // namespace lowwater
