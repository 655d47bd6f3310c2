// Element types. The enumerators follow the order of c10::ScalarType by
// coincidence only: exec/ translates through a table, the archive reader
// through another (the archive's integers differ from both).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lowwater {

enum class DType : std::uint8_t {
  u8,
  i8,
  i16,
  i32,
  i64,
  f16,
  f32,
  f64,
  c32,
  c64,
  c128,
  boolean,
  bf16,
  u16,
  f8_e4m3fn,
  f8_e5m2,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
};

// Bytes of one element.
std::int64_t element_size(DType dtype);

// "f32", "i64", "bool": the spelling of the textual IR, of messages and JSON.
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

// The integer of torch/_export/serde/schema.py's ScalarType (FLOAT = 7, ...).
std::optional<DType> dtype_from_archive(int code);

bool is_floating(DType dtype);

}  // namespace lowwater
