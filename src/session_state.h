// What a Session is made of. Private to session*.cc.
//
//   open   archive -> graph -> rewrites -> facts (steps measured) -> frontier
//          -> the fastest plan inside the budget                   session_plan.cc
//   run    tensors in -> executor of these shapes -> tensors out   session_io.cc
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "exec/executor.h"
#include "exec/executor_queue.h"
#include "exec/record_store.h"
#include "exec/worker.h"
#include "graph/import.h"
#include "lowwater/session.h"
#include "plan/program.h"
#include "plan/schedule.h"
#include "session_budget.h"

namespace lowwater {

// The private half of a Plan that fits.
struct PlanDetails {
  Schedule schedule;
  Program program;
};

// One set of input sizes: the graph bound to them and its plan.
struct PlannedShape {
  InputShapes shapes;
  Graph graph;
  Plan plan;
};

// Used on the worker's thread only, once it exists.
struct SessionCore {
  Options options;
  c10::Device device = c10::kCPU;
  Archive archive;
  SchemaTable schemas;
  ProgramDescription program;
  std::vector<IoDescription> inputs, outputs;
  BudgetBase budget_base;              // what the process held before
  std::unique_ptr<RecordStore> store;  // null: no cache
  std::shared_ptr<DeviceQueue> queue;
  std::vector<std::unique_ptr<PlannedShape>> plans;  // the first is the one that open() made
  std::unique_ptr<DeviceWeights> weights;
  std::unique_ptr<Executor> executor;  // of `executor_of`: one arena at a time
  const PlannedShape* executor_of = nullptr;
  std::vector<PlanTiming> open_timings;    // of what comes before the first plan
  std::vector<std::byte> unplanned_state;  // mutated buffers as run_unplanned left them
};

struct Session::State {
  explicit State(int threads) : worker(threads) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Everything that lives on the device goes on the thread that made it.
  ~State() {
    worker.run([this] { core.reset(); });
  }

  std::unique_ptr<SessionCore> core;
  Worker worker;
};

}  // namespace lowwater
