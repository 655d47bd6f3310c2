// A program's steps, made ready: operators resolved, planned addresses looked up.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "exec/call.h"
#include "exec/executor_places.h"
#include "exec/scripted_allocator.h"
#include "plan/program.h"

namespace lowwater {

struct PreparedLaunch {
  const Launch* launch;
  PreparedCall call;
  std::vector<BufferId> allocated;    // by allocation of the script
  std::vector<PlannedAlloc> planned;  // parallel
  // Operand buffers whose address an output takes: their owner lets go first.
  std::vector<BufferId> taken_over;
};

struct PreparedLoop;

using PreparedStep = std::variant<PreparedLaunch, Copy, RecordEvent, WaitEvent, Release,
                                  std::unique_ptr<PreparedLoop>>;

struct PreparedLoop {
  std::int32_t loop = 0;
  std::int64_t trips = 0;
  std::vector<std::vector<PreparedStep>> bodies;
  std::vector<std::int32_t> class_of;
};

// `program` must outlive the result. Throws Error(unsupported) for an operator
// that the installed PyTorch lacks.
std::vector<PreparedStep> prepare_steps(const Program& program, const std::vector<Step>& steps,
                                        const Places& places, c10::Device device);

// Why the steps cannot become a CUDA graph; empty if they can.
std::string cannot_capture(const Program& program);

// Does any step draw random numbers?
bool draws_random(const std::vector<Step>& steps);

}  // namespace lowwater
