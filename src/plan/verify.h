// Proves a Program sound. Shares no code with lowering and packing.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/program.h"

namespace lowwater {

struct Violation {
  enum class Kind : std::uint8_t {
    overlap,         // two live buffers share bytes and no rule allows it
    early_release,   // a read of bytes that were released or overwritten
    unwritten,       // a read of bytes that nobody wrote
    missing_event,   // two streams touch the same bytes without an order
    missing_region,  // written boxes do not cover what is read
    bad_address,     // outside its space, misaligned
    bad_script,      // a script frees what is not live, or outputs do not match
    wrong_peak,      // the arena size is not what the buffers need
    wrong_value,     // a step, operand or result is not what the graph says
  };
  Kind kind = Kind::overlap;
  std::string what;  // one sentence naming steps, values and byte ranges
};

// Empty: sound. `graph` gives operands their meaning (which value a slot
// stands for, who may share); pass the one that the program was lowered from.
std::vector<Violation> verify_program(const Graph& graph, const Program& program);

}  // namespace lowwater
