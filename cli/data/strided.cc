#include "data/strided.h"

#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "base/bytes.h"
#include "lowwater/error.h"

namespace lowwater {

std::optional<std::int64_t> checked_bytes(std::span<const std::int64_t> sizes,
                                          std::int64_t element) {
  // A size of zero makes the whole product zero, whatever the others are.
  std::int64_t bytes = element;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    empty |= size == 0;
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

std::vector<std::byte> make_bytes(std::int64_t bytes, const std::string& where) {
  try {
    return std::vector<std::byte>(static_cast<std::size_t>(bytes));
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw Error(ErrorKind::machine, "no memory for its " + format_bytes(bytes), where,
                "free memory on this machine");
  }
}

std::vector<std::byte> gather(const std::byte* from, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides, std::int64_t element) {
  std::vector<std::byte> out(static_cast<std::size_t>(checked_bytes(sizes, element).value_or(0)));
  if (out.empty()) return out;
  // Trailing dimensions that are contiguous are copied as one run.
  std::size_t outer = sizes.size();
  std::int64_t run = 1;
  while (outer > 0 && (sizes[outer - 1] == 1 || strides[outer - 1] == run)) run *= sizes[--outer];
  const auto run_bytes = static_cast<std::size_t>(run * element);
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t offset = 0;
  for (std::size_t at = 0; at < out.size(); at += run_bytes) {
    std::memcpy(out.data() + at, from + offset * element, run_bytes);
    for (std::size_t d = outer; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace lowwater
