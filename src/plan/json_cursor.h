// A position in a JSON document that knows its path, for strict readers.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "lowwater/error.h"

namespace lowwater {

// Lives on the stack, parent outlives child; the path is spelled only to fail:
// "steps[3].args[0]".
class JsonCursor {
 public:
  explicit JsonCursor(const nlohmann::json& value) : value_(value) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_input, what, "plan JSON" + path());
  }

  [[nodiscard]] const nlohmann::json& value() const { return value_; }

  // The member `key`; its absence is an error.
  [[nodiscard]] JsonCursor at(const char* key) const {
    if (auto member = find(key)) return *member;
    fail(std::string("'") + key + "' is missing");
  }
  [[nodiscard]] std::optional<JsonCursor> find(const char* key) const {
    if (!value_.is_object()) fail("expected an object");
    const auto found = value_.find(key);
    if (found == value_.end()) return std::nullopt;
    return JsonCursor(*found, this, key, 0);
  }

  template <typename Visitor>
  void each(Visitor&& visit) const {
    if (!value_.is_array()) fail("expected a list");
    for (std::size_t i = 0; i < value_.size(); ++i) visit(JsonCursor(value_[i], this, nullptr, i));
  }

  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const {
    const bool fits = value_.is_number_integer() &&
                      !(value_.is_number_unsigned() &&
                        value_.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
    if (!fits) fail("expected an integer");
    const auto number = value_.get<std::int64_t>();
    if (number < min || number > max) {
      fail(std::to_string(number) + " is not in " + std::to_string(min) + ".." +
           std::to_string(max));
    }
    return number;
  }
  [[nodiscard]] std::int32_t id(std::int64_t min, std::size_t count) const {
    return static_cast<std::int32_t>(integer(min, static_cast<std::int64_t>(count) - 1));
  }
  [[nodiscard]] bool boolean() const {
    if (!value_.is_boolean()) fail("expected true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] const std::string& text() const {
    if (!value_.is_string()) fail("expected a string");
    return value_.get_ref<const std::string&>();
  }
  // A number, or "nan", "inf", "-inf", which JSON cannot write.
  [[nodiscard]] double real() const {
    if (value_.is_number()) return value_.get<double>();
    const std::string name = value_.is_string() ? value_.get<std::string>() : "";
    if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (name == "inf") return std::numeric_limits<double>::infinity();
    if (name == "-inf") return -std::numeric_limits<double>::infinity();
    fail("expected a number");
  }

 private:
  JsonCursor(const nlohmann::json& value, const JsonCursor* parent, const char* key,
             std::size_t index)
      : value_(value), parent_(parent), key_(key), index_(index) {}

  [[nodiscard]] std::string path() const {
    if (parent_ == nullptr) return {};
    const std::string before = parent_->path();
    if (key_ == nullptr) return before + "[" + std::to_string(index_) + "]";
    return before + (before.empty() ? ": " : ".") + key_;
  }

  const nlohmann::json& value_;
  const JsonCursor* parent_ = nullptr;
  const char* key_ = nullptr;  // of an object's member; else `index_` in a list
  std::size_t index_ = 0;
};

}  // namespace lowwater
