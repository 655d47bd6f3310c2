// The dictionary in front of an array, read without a Python.
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "data/npy.h"
#include "data/refuse.h"
#include "data/strided.h"

namespace lowwater {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 13> kTypes = {{
    {"b1", DType::boolean},
    {"u1", DType::u8},
    {"u2", DType::u16},
    {"i1", DType::i8},
    {"i2", DType::i16},
    {"i4", DType::i32},
    {"i8", DType::i64},
    {"f2", DType::f16},
    {"f4", DType::f32},
    {"f8", DType::f64},
    {"c8", DType::c64},
    {"c16", DType::c128},
    {"?", DType::boolean},
}};

// Reads "{'key': value, ...}" where values are strings, True/False and tuples.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      value(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty() || !has_type_ || !has_order_ || !has_shape_) malformed();
    const auto bytes = checked_bytes(header_.sizes, element_size(header_.dtype));
    if (!bytes) refuse_data(where_, "its shape is impossible", "save the array again");
    header_.bytes = *bytes;
    return std::move(header_);
  }

 private:
  [[noreturn]] void malformed() const {
    refuse_data(where_, "its .npy header is corrupt", "save the array again with numpy.save");
  }
  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
  }
  bool accept(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) malformed();
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) malformed();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  void value(const std::string& key) {
    if (key == "descr" && !std::exchange(has_type_, true))
      type();
    else if (key == "fortran_order" && !std::exchange(has_order_, true))
      order();
    else if (key == "shape" && !std::exchange(has_shape_, true))
      shape();
    else
      malformed();
  }
  void type() {
    if (accept('['))
      refuse_data(where_, "holds a structured array",
                  "save each of its fields as an array of its own");
    const std::string descr = string();
    const bool has_mark =
        !descr.empty() && std::string_view("<>|=").find(descr.front()) != std::string_view::npos;
    const std::string_view name = std::string_view(descr).substr(has_mark ? 1 : 0);
    header_.swapped = has_mark && descr.front() == '>';
    for (const auto& [known, dtype] : kTypes) {
      if (known != name) continue;
      header_.dtype = dtype;
      return;
    }
    if (name == "O")
      refuse_data(where_, "holds Python objects", "convert the array to numbers before saving it");
    refuse_data(where_, "holds elements of type '" + descr + "', which is not supported",
                "convert it with astype, for example to float32 or int64");
  }
  void order() {
    if (accept_word("True"))
      header_.fortran = true;
    else if (!accept_word("False"))
      malformed();
  }
  void shape() {
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (status != std::errc()) malformed();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      accept('L');  // Python 2 wrote long integers so
      header_.sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view rest_;
  const std::string& where_;
  NpyHeader header_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& where) {
  return HeaderReader(text, where).read();
}

}  // namespace lowwater
