// The one exception type that crosses lowwater's public boundary.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace lowwater {

// What went wrong, as a caller wants to distinguish it. The command line maps
// each kind to one documented exit code (docs/cli.md).
enum class ErrorKind {
  internal,      // a bug in lowwater                                       exit 1
  bad_input,     // usage, unreadable or corrupt file, wrong shape or type   exit 2
  does_not_fit,  // the budget is below the smallest feasible one           exit 3
  unsupported,   // the model contains something not understood             exit 4
  machine,       // disk full, out of memory, device lost                   exit 6
  interrupted,   // stopped by the caller                                   exit 130
};

// One failure in three parts, so that every front end can print one line:
// "<where>: <what>; <hint>". `where` and `hint` may be empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string what, std::string where = {}, std::string hint = {})
      : std::runtime_error(join(what, where, hint)),
        kind_(kind),
        what_(std::move(what)),
        where_(std::move(where)),
        hint_(std::move(hint)) {}

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  // The sentence alone, without `where` and `hint` (those are in what()).
  [[nodiscard]] const std::string& message() const { return what_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  static std::string join(const std::string& what, const std::string& where,
                          const std::string& hint) {
    std::string line = where.empty() ? what : where + ": " + what;
    return hint.empty() ? line : line + "; " + hint;
  }

  ErrorKind kind_;
  std::string what_, where_, hint_;
};

}  // namespace lowwater
