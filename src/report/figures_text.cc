#include "report/figures_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace lowwater {
namespace {

// Three significant digits, without an exponent.
std::string three_digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string format_ms(double ms) {
  if (ms < 999.5) return three_digits(ms) + " ms";
  const double seconds = ms / 1000;
  if (seconds < 99.95) return three_digits(seconds) + " s";
  const auto whole = std::llround(seconds);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string format_ratio(double a, double b) {
  if (!(a > 0) || !(b > 0)) return {};
  const double ratio = a / b;
  return fmt::format("{:.{}f}x", ratio, ratio >= 9.95 ? 0 : ratio >= 1.995 ? 1 : 2);
}

std::string format_count(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace lowwater
