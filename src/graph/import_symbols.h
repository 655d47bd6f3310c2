// Symbols: what the sizes of the inputs make known. Private to import*.cc.
#pragma once

#include <map>
#include <string>

#include "graph/import.h"
#include "graph/import_program.h"

namespace lowwater {

// The value of every symbol that occurs in the inputs' sizes. Throws
// Error(bad_input) where `shapes` contradict the program.
Bindings bind_symbols(const ProgramDescription& program, const InputShapes& shapes);

// Ranges of the symbols that depend on data: those without a binding.
std::map<std::string, Interval64> unbound_ranges(const ProgramDescription& program,
                                                 const Bindings& bindings);

}  // namespace lowwater
