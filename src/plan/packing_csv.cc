#include <charconv>
#include <string>

#include "lowwater/error.h"
#include "plan/packing.h"

namespace lowwater {
namespace {

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t from = 0;;) {
    const std::size_t comma = line.find(',', from);
    cells.push_back(trim(line.substr(from, comma - from)));
    if (comma == std::string_view::npos) return cells;
    from = comma + 1;
  }
}

[[noreturn]] void fail(int line, const std::string& what) {
  throw Error(ErrorKind::bad_input, what, "line " + std::to_string(line),
              "expected a header with id, lower, upper, size and one buffer a line");
}

struct Columns {
  std::size_t lower = SIZE_MAX, upper = SIZE_MAX, size = SIZE_MAX;
  bool inclusive = false;
};

Columns columns_of(const std::vector<std::string_view>& header, int line) {
  Columns columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == "lower" || header[i] == "start") columns.lower = i;
    if (header[i] == "upper" || header[i] == "end")
      columns.upper = i, columns.inclusive = header[i] == "end";
    if (header[i] == "size") columns.size = i;
  }
  if (columns.lower == SIZE_MAX) fail(line, "the header has no column 'lower' or 'start'");
  if (columns.upper == SIZE_MAX) fail(line, "the header has no column 'upper' or 'end'");
  if (columns.size == SIZE_MAX) fail(line, "the header has no column 'size'");
  return columns;
}

std::int64_t number(const std::vector<std::string_view>& cells, std::size_t column, int line) {
  if (column >= cells.size()) fail(line, "too few columns");
  const std::string_view cell = cells[column];
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty())
    fail(line, "'" + std::string(cell) + "' is not a whole number");
  return value;
}

}  // namespace

std::vector<PackItem> read_pack_csv(std::string_view csv) {
  std::vector<PackItem> items;
  Columns columns;
  bool have_header = false;
  int line_number = 0;
  while (!csv.empty()) {
    ++line_number;
    const std::size_t newline = csv.find('\n');
    const std::string_view line = trim(csv.substr(0, newline));
    csv = newline == std::string_view::npos ? std::string_view() : csv.substr(newline + 1);
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = cells_of(line);
    if (!have_header) {
      columns = columns_of(cells, line_number);
      have_header = true;
      continue;
    }
    PackItem item{number(cells, columns.lower, line_number),
                  number(cells, columns.upper, line_number),
                  number(cells, columns.size, line_number)};
    if (columns.inclusive) ++item.end;
    if (item.begin > item.end) fail(line_number, "the buffer ends before it begins");
    if (item.size < 0) fail(line_number, "the size is negative");
    items.push_back(item);
  }
  if (!have_header) fail(1, "the file is empty");
  return items;
}

}  // namespace lowwater
