// What operators throw, as lowwater's one exception type.
#pragma once

#include <string>

#include "base/bytes.h"

namespace lowwater {

// Call inside a catch block. `what` names the operator, `where` its source line,
// `bytes` what it was to allocate (0: not known).
[[noreturn]] void rethrow_as_error(const std::string& op, const std::string& where, Bytes bytes);

}  // namespace lowwater
