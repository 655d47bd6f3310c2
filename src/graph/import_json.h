// Checked access to the program JSON: whatever is missing or of another type
// is one Error(bad_input). Private to import*.cc.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lowwater/error.h"

namespace lowwater {

using Json = nlohmann::json;

[[noreturn]] inline void refuse_json(const std::string& why) {
  throw Error(ErrorKind::bad_input, why, "program JSON", "export the model again");
}

inline const Json& json_member(const Json& object, const char* key) {
  if (!object.is_object()) refuse_json(std::string("an object with '") + key + "' is missing");
  const auto found = object.find(key);
  if (found == object.end()) refuse_json(std::string("'") + key + "' is missing");
  return *found;
}

// nullptr if absent or null.
inline const Json* json_optional(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

inline const std::string& json_text(const Json& value) {
  if (!value.is_string()) refuse_json("a text is missing");
  return value.get_ref<const std::string&>();
}

inline std::int64_t json_integer(const Json& value) {
  if (!value.is_number_integer()) refuse_json("an integer is missing");
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
    refuse_json("an integer does not fit 64 bits");
  }
  return value.get<std::int64_t>();
}

inline bool json_bool(const Json& value) {
  if (!value.is_boolean()) refuse_json("true or false is missing");
  return value.get<bool>();
}

// JSON lacks infinity and NaN: they are texts.
inline double json_real(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string& text = json_text(value);
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  refuse_json("'" + text + "' is not a number");
}

template <typename Convert>
auto json_list(const Json& array, Convert&& convert) {
  if (!array.is_array()) refuse_json("a list is missing");
  std::vector<std::decay_t<decltype(convert(array))>> items;
  items.reserve(array.size());
  for (const Json& item : array) items.push_back(convert(item));
  return items;
}

// A union is an object with exactly one key: {"as_int": 3} -> ("as_int", 3).
inline std::pair<std::string, const Json*> json_union(const Json& object) {
  if (!object.is_object() || object.size() != 1)
    refuse_json("a union does not have exactly one key");
  return {object.begin().key(), &object.begin().value()};
}

}  // namespace lowwater
