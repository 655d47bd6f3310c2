// Programs as JSON, both ways: what `plan -o plan.json` stores.
#pragma once

#include <string>
#include <string_view>

#include "plan/program.h"

namespace lowwater {

std::string program_to_json(const Program& program);
// Throws Error(bad_input) with the path of the first mistake. The result is
// well-formed (ids in range, enums known) but not verified.
Program program_from_json(std::string_view json);

// Equal programs print equal texts; for golden tests.
std::string print_program(const Program& program);

}  // namespace lowwater
