#include "compare.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "load.h"

namespace lowwater::cli {
namespace {

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value = mantissa != 0 ? std::nan("") : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// Element `i` counts real numbers: a complex element is two.
double element(DType dtype, const std::byte* data, std::size_t i) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return load<float>(data + 4 * i);
    case DType::f64:
    case DType::c128:
      return load<double>(data + 8 * i);
    case DType::f16:
    case DType::c32:
      return half_to_double(load<std::uint16_t>(data + 2 * i));
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(data + 2 * i))
                                  << 16);
    case DType::i64:
      return static_cast<double>(load<std::int64_t>(data + 8 * i));
    case DType::i32:
      return load<std::int32_t>(data + 4 * i);
    case DType::i16:
      return load<std::int16_t>(data + 2 * i);
    case DType::u16:
      return load<std::uint16_t>(data + 2 * i);
    case DType::i8:
      return load<std::int8_t>(data + i);
    default:
      return load<std::uint8_t>(data + i);
  }
}

bool is_complex(DType dtype) {
  return dtype == DType::c32 || dtype == DType::c64 || dtype == DType::c128;
}

}  // namespace

Difference compare(const TensorView& a, const TensorView& b) {
  Difference out;
  if (a.sizes != b.sizes || a.dtype != b.dtype) {
    out.same_shape = out.bit_equal = false;
    return out;
  }
  const HostTensor x = to_host_tensor(a), y = to_host_tensor(b);
  out.bit_equal = x.bytes == y.bytes;
  const auto size = static_cast<std::size_t>(element_size(x.dtype)) / (is_complex(x.dtype) ? 2 : 1);
  double largest = 0;
  for (std::size_t i = 0; i < x.bytes.size() / size; ++i) {
    const double p = element(x.dtype, x.bytes.data(), i), q = element(y.dtype, y.bytes.data(), i);
    if (std::isfinite(q)) largest = std::max(largest, std::fabs(q));
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    const double distance = std::fabs(p - q);
    out.absolute = std::max(
        out.absolute, std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance);
  }
  out.relative = largest > 0 ? out.absolute / largest : out.absolute;
  return out;
}

}  // namespace lowwater::cli
