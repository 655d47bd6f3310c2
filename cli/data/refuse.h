// One line per refusal: which file, what is wrong with it, what to do.
#pragma once

#include <string>

#include "lowwater/error.h"

namespace lowwater {

[[noreturn]] inline void refuse_data(const std::string& where, const std::string& what,
                                     const std::string& hint) {
  throw Error(ErrorKind::bad_input, what, where, hint);
}

}  // namespace lowwater
