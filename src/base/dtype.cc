#include "base/dtype.h"

#include <array>

namespace lowwater {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::int64_t size;
  int archive_code;  // torch/_export/serde/schema.py, class ScalarType; -1: not there
};

constexpr std::array<Row, 18> kRows = {{
    {DType::u8, "u8", 1, 1},
    {DType::i8, "i8", 1, 2},
    {DType::i16, "i16", 2, 3},
    {DType::i32, "i32", 4, 4},
    {DType::i64, "i64", 8, 5},
    {DType::f16, "f16", 2, 6},
    {DType::f32, "f32", 4, 7},
    {DType::f64, "f64", 8, 8},
    {DType::c32, "c32", 4, 9},
    {DType::c64, "c64", 8, 10},
    {DType::c128, "c128", 16, 11},
    {DType::boolean, "bool", 1, 12},
    {DType::bf16, "bf16", 2, 13},
    {DType::u16, "u16", 2, 28},
    {DType::f8_e4m3fn, "f8_e4m3fn", 1, 29},
    {DType::f8_e5m2, "f8_e5m2", 1, 30},
    {DType::f8_e4m3fnuz, "f8_e4m3fnuz", 1, 31},
    {DType::f8_e5m2fnuz, "f8_e5m2fnuz", 1, 32},
}};

constexpr const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

std::int64_t element_size(DType dtype) { return row(dtype).size; }

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_archive(int code) {
  for (const Row& candidate : kRows) {
    if (candidate.archive_code == code) return candidate.dtype;
  }
  return std::nullopt;
}

bool is_floating(DType dtype) { return row(dtype).name[0] == 'f' || dtype == DType::bf16; }

}  // namespace lowwater
