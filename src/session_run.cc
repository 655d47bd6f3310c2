#include "session_run.h"

#include <algorithm>
#include <utility>

#include "exec/device.h"
#include "exec/executor_seed.h"
#include "lowwater/error.h"
#include "session_io.h"
#include "session_plan.h"

namespace lowwater {
namespace {

constexpr std::size_t kPlansKept = 16;
// Bytes that allocations no script foresaw may take; counted and reported.
constexpr Bytes kStrayReserve = kMiB;

// By storage: does the graph read it, does it write it?
struct WeightUse {
  std::vector<bool> needed, mutated;
};

WeightUse weight_use(const Graph& graph, const WeightTable& table) {
  WeightUse use{std::vector<bool>(table.storages.size()), std::vector<bool>(table.storages.size())};
  const auto storage = [&](WeightId id) {
    return static_cast<std::size_t>(table.weights.at(static_cast<std::size_t>(id)).storage);
  };
  const auto read = [&](ValueId value) {
    if (graph.value(value).kind == ValueKind::weight)
      use.needed[storage(graph.value(value).index)] = true;
  };
  for (const Node& node : graph.nodes) {
    for (const ValueId value : node_inputs(node)) read(value);
  }
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value, [&](const Ref& ref) { read(ref.id); });
    if (output.kind != OutputKind::buffer_mutation) continue;
    use.needed[storage(output.target)] = use.mutated[storage(output.target)] = true;
  }
  return use;
}

// Weights do not depend on input sizes, but for which of them a graph reads.
DeviceWeights& weights_for(SessionCore& core, const Graph& graph) {
  const WeightUse use = weight_use(graph, core.archive.weights());
  bool enough = core.weights != nullptr;
  for (std::size_t i = 0; i < use.needed.size() && enough; ++i) {
    enough = !use.needed[i] || core.weights->loaded(static_cast<StorageIndex>(i));
  }
  if (!enough) {
    std::vector<std::byte> state;
    if (core.weights) core.weights->exchange_state(state);
    core.executor.reset();
    core.executor_of = nullptr;
    core.weights.reset();
    core.weights =
        std::make_unique<DeviceWeights>(core.archive, core.device, use.needed, use.mutated);
    if (!state.empty()) core.weights->exchange_state(state);
  }
  return *core.weights;
}

ExecutorOptions executor_options(const SessionCore& core, const Graph& graph) {
  ExecutorOptions options;
  options.device = core.device;
  options.poison = core.options.poison;
  options.cuda_graph = core.options.cuda_graph && core.device.is_cuda();
  options.fixed_io = core.options.borrow_outputs;
  options.borrow_outputs = core.options.borrow_outputs;
  options.queue = core.queue;
  options.stray_limit = kStrayReserve;
  options.seed = core.options.seed;
  options.where = [&graph](NodeId node) { return graph.where(node); };
  return options;
}

// One arena at a time: the one of other sizes goes first.
Executor& executor_for(SessionCore& core, const PlannedShape& planned) {
  DeviceWeights& weights = weights_for(core, planned.graph);
  if (core.executor_of != &planned) {
    core.executor.reset();
    core.executor_of = nullptr;
    core.executor = std::make_unique<Executor>(planned.plan.details->program, weights,
                                               executor_options(core, planned.graph));
    core.executor_of = &planned;
  }
  return *core.executor;
}

void check_runnable(const Plan& plan) {
  if (!plan.fits) {
    throw Error(ErrorKind::does_not_fit,
                "the smallest budget is " + format_bytes(plan.smallest_budget_bytes) + " (" +
                    std::to_string(plan.smallest_budget_bytes) + " bytes), given are " +
                    format_bytes(plan.budget_bytes),
                plan.peak_source);
  }
  if (plan.basis != "measured") {
    throw Error(ErrorKind::bad_input, "an " + plan.basis + " plan cannot be executed", {},
                "allow measuring (--measure-time), or a little more than this budget");
  }
}

}  // namespace

const PlannedShape& plan_for(SessionCore& core, const InputShapes& shapes) {
  const auto known = std::find_if(core.plans.begin(), core.plans.end(),
                                  [&](const auto& planned) { return planned->shapes == shapes; });
  if (known != core.plans.end()) {
    check_runnable((*known)->plan);
    return **known;
  }
  core.executor.reset();  // its arena would take room from measuring
  core.executor_of = nullptr;
  if (core.plans.size() >= kPlansKept)
    core.plans.erase(core.plans.begin() + 1);  // the oldest but for the first
  core.plans.push_back(make_plan(core, shapes));
  check_runnable(core.plans.back()->plan);
  return *core.plans.back();
}

RunResult run_planned(SessionCore& core, const PlannedShape& planned,
                      const std::vector<TensorView>& views) {
  const std::vector<at::Tensor> inputs = borrow_inputs(core, planned.graph, views);
  Executor& executor = executor_for(core, planned);
  ExecStats stats;
  const std::vector<at::Tensor> outputs = executor.run(inputs, &stats);

  const Program& program = planned.plan.details->program;
  RunResult result;
  result.outputs = own_outputs(core, outputs, inputs);
  RunStats& run = result.stats;
  run.planned_peak_bytes = planned.plan.peak_bytes;
  run.planned_arena_bytes = planned.plan.arena_bytes;
  run.measured_arena_bytes = stats.arena_high_water;
  run.measured_peak_bytes = stats.arena_high_water + program.constant_bytes +
                            core.weights->device_bytes() + input_bytes(program, inputs) +
                            stats.output_bytes + stats.stray_bytes;
  if (core.device.is_cuda()) run.process_peak_bytes = process_memory(core.device).bytes;
  run.strays = stats.strays;
  run.ms = stats.ms;
  return result;
}

RunResult run_as_exported(SessionCore& core, const InputShapes& shapes,
                          const std::vector<TensorView>& views) {
  const auto known = std::find_if(core.plans.begin(), core.plans.end(),
                                  [&](const auto& planned) { return planned->shapes == shapes; });
  const Graph graph = known != core.plans.end() ? (*known)->graph : prepare_graph(core, shapes);
  DeviceWeights& weights = weights_for(core, graph);
  const std::vector<at::Tensor> inputs = borrow_inputs(core, graph, views);
  RunResult result;
  weights.exchange_state(core.unplanned_state);
  try {
    const SeedScope seed(core.device, core.options.seed);
    Bytes peak = 0;
    const std::vector<at::Tensor> outputs =
        run_naive(graph, weights, core.archive.weights(), core.device, inputs, &peak,
                  &result.stats.ms, core.queue);
    result.outputs = own_outputs(core, outputs, inputs);
    result.stats.measured_peak_bytes = peak + weights.device_bytes();
    for (const at::Tensor& input : inputs) {
      if (input.defined()) result.stats.measured_peak_bytes += static_cast<Bytes>(input.nbytes());
    }
  } catch (...) {
    weights.exchange_state(core.unplanned_state);
    throw;
  }
  weights.exchange_state(core.unplanned_state);
  if (core.device.is_cuda()) result.stats.process_peak_bytes = process_memory(core.device).bytes;
  return result;
}

}  // namespace lowwater
