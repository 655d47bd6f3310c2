// What printer and parser of the textual form agree on; private to text_*.cc.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/arg.h"

namespace lowwater {

inline constexpr std::array<std::pair<std::string_view, MemoryFormat>, 4> kFormatWords = {{
    {"contiguous", MemoryFormat::contiguous},
    {"channels_last", MemoryFormat::channels_last},
    {"channels_last_3d", MemoryFormat::channels_last_3d},
    {"preserve", MemoryFormat::preserve},
}};
inline constexpr std::array<std::pair<std::string_view, Layout>, 1> kLayoutWords = {
    {{"strided", Layout::strided}}};
inline constexpr std::array<std::pair<std::string_view, DeviceArg>, 2> kDeviceWords = {
    {{"plan_device", DeviceArg::plan_device}, {"host", DeviceArg::host}}};

template <typename Words, typename Enum>
std::string_view find_word(const Words& words, Enum value) {
  for (const auto& [word, candidate] : words) {
    if (candidate == value) return word;
  }
  return "?";
}
inline std::string_view word_of(MemoryFormat value) { return find_word(kFormatWords, value); }
inline std::string_view word_of(Layout value) { return find_word(kLayoutWords, value); }
inline std::string_view word_of(DeviceArg value) { return find_word(kDeviceWords, value); }

// Letters, digits, "_" and ".": what a name may hold without quotes.
constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
constexpr bool is_plain_name(std::string_view name) {
  for (const char c : name) {
    if (!is_name_char(c)) return false;
  }
  return !name.empty();
}
// An operator may hold ":" too; it must, or it could be taken for a keyword.
constexpr bool is_plain_op(std::string_view op) {
  for (const char c : op) {
    if (!is_name_char(c) && c != ':') return false;
  }
  return op.find("::") != std::string_view::npos && (op.front() < '0' || op.front() > '9');
}

}  // namespace lowwater
