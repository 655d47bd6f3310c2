// The spelling of enumerators in JSON and in printed programs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

#include "plan/program.h"

namespace lowwater {

// By enumerator, in order.
template <typename Enum>
constexpr auto enum_names() {
  if constexpr (std::is_same_v<Enum, Space>) {
    return std::array<std::string_view, 6>{"arena", "constant", "weight",
                                           "input", "output",   "host"};
  } else if constexpr (std::is_same_v<Enum, BufferKind>) {
    return std::array<std::string_view, 6>{"value", "temporary", "weight",
                                           "input", "output",    "staging"};
  } else if constexpr (std::is_same_v<Enum, TypeKind>) {
    return std::array<std::string_view, 4>{"tensor", "int", "real", "bool"};
  } else if constexpr (std::is_same_v<Enum, MemoryFormat>) {
    return std::array<std::string_view, 4>{"contiguous", "channels_last", "channels_last_3d",
                                           "preserve"};
  } else if constexpr (std::is_same_v<Enum, Layout>) {
    return std::array<std::string_view, 1>{"strided"};
  } else {
    static_assert(std::is_same_v<Enum, DeviceArg>);
    return std::array<std::string_view, 2>{"device", "host"};
  }
}

template <typename Enum>
constexpr std::string_view enum_name(Enum value) {
  return enum_names<Enum>()[static_cast<std::size_t>(value)];
}

template <typename Enum>
std::optional<Enum> parse_enum(std::string_view name) {
  constexpr auto kNames = enum_names<Enum>();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace lowwater
