// Bytes -> program_from_json: refused with Error(bad_input), or a program that
// prints the same after another trip through JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lowwater/error.h"
#include "plan/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lowwater;
  try {
    const Program program = program_from_json({reinterpret_cast<const char*>(data), size});
    if (print_program(program_from_json(program_to_json(program))) != print_program(program))
      std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) std::abort();
  }
  return 0;
}
