// Schedule -> Program: instances of values become buffers and slots, node calls
// become launches with allocation scripts, inputs and outputs become copies.
#pragma once

#include "analysis/facts.h"
#include "plan/program.h"
#include "plan/schedule.h"

namespace lowwater {

// Where the caller's tensors are.
enum class IoPlace : std::uint8_t {
  device,  // used in place; outputs are allocated for the caller on the device
  host,    // uploaded and downloaded by copy steps
};

struct LowerOptions {
  IoPlace io = IoPlace::device;
  bool share_addresses = true;  // in place where the operator table allows it
};

// Deterministic. Addresses are not planned yet (see plan_addresses). `facts`
// must be of the same graph; `costs` answers for specs that facts lack.
Program lower(const Graph& graph, const WeightTable& weights, const Schedule& schedule,
              const Facts& facts, CostProvider& costs, const LowerOptions& options = {});

struct AddressReport {
  Bytes lower_bound = 0;  // of the arena
  std::string method;
  bool optimal = false;
};

// Packs the arena and the constant space; fills Buffer::offset and the sizes.
AddressReport plan_addresses(Program& program, double time_limit_ms = 300);

// Bytes that are live at once without packing: what plan_addresses' lower bound
// will be. O(steps): scores candidates.
Bytes liveness_bound(const Program& program);

}  // namespace lowwater
