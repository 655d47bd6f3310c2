// How reports write numbers.
#pragma once

#include <string>

namespace lowwater {

// "0.123 ms", "12.3 ms", "1.50 s", "2 min 05 s": three significant digits.
std::string format_ms(double ms);

// "2.4x"; "1.02x"; empty if either is 0.
std::string format_ratio(double a, double b);

// "3 operators", "1 operator".
std::string format_count(std::size_t count, const std::string& noun);

}  // namespace lowwater
