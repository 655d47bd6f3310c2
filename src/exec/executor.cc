// Runs the steps of a program. Order, addresses and lifetimes are the program's;
// what happens here is checked against it as it happens.
#include "exec/executor.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "exec/executor_errors.h"
#include "exec/executor_places.h"
#include "exec/executor_poison.h"
#include "exec/executor_queue.h"
#include "exec/executor_seed.h"
#include "exec/executor_steps.h"
#include "exec/executor_tensors.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

Bytes requested(const PreparedLaunch& step) {
  Bytes sum = 0;
  for (const PlannedAlloc& planned : step.planned) sum += planned.size;
  return sum;
}

}  // namespace

struct Executor::State {
  Program program;
  ExecutorOptions options;
  std::shared_ptr<DeviceQueue> queue;
  Places places;
  std::vector<PreparedStep> steps;
  // Who owns the block of each buffer, from the allocation to the release: the
  // allocator's callbacks see the true lifetimes.
  std::vector<c10::Storage> holders;
  std::optional<Poison> poison;
  bool random = false;
  std::int64_t runs = 0;
  std::unique_ptr<DeviceQueue::CapturedGraph> graph;
  ExecStats stats;        // of the current run
  ExecStats graph_stats;  // of the captured one

  State(Program p, const DeviceWeights& weights, const ExecutorOptions& o)
      : program(std::move(p)),
        options(o),
        queue(o.queue ? o.queue : make_queue(o.device)),
        places(program, weights, options, *queue),
        holders(program.buffers.size()) {}

  std::string where(const Launch& launch) const {
    return options.where && launch.node != kNone ? options.where(launch.node) : launch.op;
  }
  void execute(std::vector<PreparedStep>& list);
  void launch(PreparedLaunch& step);
  void keep(PreparedLaunch& step, std::vector<c10::IValue>& results);
  void accept(const PreparedLaunch& step, SlotId slot, const at::Tensor& tensor);
  void copy(const Copy& step);
  void grant(BufferId buffer);
  void release(BufferId buffer);
  void clear();
  void check_nothing_live();
  bool capture();
  void run_steps();
};

// ---------------------------------------------------------------- one step

void Executor::State::launch(PreparedLaunch& step) {
  const Launch& launch = *step.launch;
  if (launch.guard != kNone && is_true(places.values[at(launch.guard)]) != launch.guard_when)
    return;
  queue->use(launch.stream);
  for (const BufferId buffer : step.taken_over) holders[at(buffer)] = {};
  if (poison) {
    for (const BufferId buffer : step.allocated) poison->granted(buffer);
  }
  try {
    std::vector<c10::IValue> results;
    ScopeReport report;
    {
      ReplayScope scope(options.device, step.planned, options.stray_limit - stats.stray_bytes);
      results = step.call.run(places.values);
      report = scope.report();
    }
    stats.strays += report.strays;
    stats.stray_bytes += report.stray_bytes;
    stats.output_bytes += report.caller_bytes;
    keep(step, results);
  } catch (...) {
    rethrow_as_error(launch.op, where(launch), requested(step));
  }
  if (!poison) return;
  std::vector<BufferId> temporaries = step.taken_over;
  for (const BufferId buffer : step.allocated) {
    if (!holders[at(buffer)]) temporaries.push_back(buffer);
  }
  poison->check_step(temporaries, where(launch));
}

// Results go to their slots; the blocks that they own to the holders.
void Executor::State::keep(PreparedLaunch& step, std::vector<c10::IValue>& results) {
  const std::vector<SlotId>& outputs = step.launch->outputs;
  if (results.size() < outputs.size()) {
    throw Error(ErrorKind::internal,
                fmt::format("{} results where the plan has {}", results.size(), outputs.size()),
                where(*step.launch));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNone) continue;
    const Slot& slot = program.slots[at(outputs[i])];
    if (slot.kind != TypeKind::tensor) {
      places.values[at(outputs[i])] = std::move(results[i]);
    } else {
      accept(step, outputs[i], results[i].isTensor() ? results[i].toTensor() : at::Tensor());
    }
  }
}

void Executor::State::accept(const PreparedLaunch& step, SlotId id, const at::Tensor& tensor) {
  const Slot& slot = program.slots[at(id)];
  if (!tensor.defined()) {
    places.values[at(id)] = c10::IValue();
    return;
  }
  const bool fresh =
      std::find(step.allocated.begin(), step.allocated.end(), slot.buffer) != step.allocated.end();
  const bool planned = places.address(slot.buffer) != nullptr;
  if (fresh && planned && !holders[at(slot.buffer)]) holders[at(slot.buffer)] = tensor.storage();
  if (fresh && !planned) places.bind(slot.buffer, tensor.storage(), 0);
  if (slot.dynamic) {
    places.values[at(id)] = tensor;
    return;
  }
  const at::Tensor& expected = places.values[at(id)].toTensor();
  const bool lands = tensor.numel() == 0 || tensor.const_data_ptr() == expected.const_data_ptr();
  if (lands && matches(tensor, slot.meta)) return;
  const auto* target = static_cast<const std::byte*>(expected.const_data_ptr());
  throw Error(
      ErrorKind::internal,
      fmt::format(
          "{} gave {}{}, planned was {}", step.launch->op, describe(meta_of(tensor)),
          lands ? ""
                : fmt::format(" {} bytes from its place",
                              static_cast<const std::byte*>(tensor.const_data_ptr()) - target),
          describe(slot.meta)),
      where(*step.launch));
}

// The block of a buffer that no launch allocates: the target of a copy.
void Executor::State::grant(BufferId id) {
  const Buffer& buffer = program.buffers[at(id)];
  if (buffer.space == Space::output || buffer.space == Space::host) {
    if (places.bound(id)) return;
    places.bind_new(id);
    if (buffer.space == Space::output) stats.output_bytes += buffer.size;
    return;
  }
  if (buffer.space != Space::arena || holders[at(id)]) return;
  if (buffer.shares != kNone) holders[at(buffer.shares)] = {};
  const PlannedAlloc planned{places.address(id), buffer.size, false};
  const ReplayScope scope(options.device, std::span(&planned, 1), 0);
  holders[at(id)] = new_storage(buffer.size, options.device);
  if (poison) poison->granted(id);
}

void Executor::State::copy(const Copy& step) {
  try {
    grant(program.slots[at(step.to)].buffer);
    queue->use(step.stream);
    places.copy(step);
  } catch (...) {
    const Buffer& target = program.buffers[at(program.slots[at(step.to)].buffer)];
    rethrow_as_error("copy", fmt::format("copy to slot {}", step.to), target.size);
  }
  if (poison) poison->check_step({}, "copy");
}

void Executor::State::release(BufferId buffer) {
  holders[at(buffer)] = {};
  places.forget_results(buffer);
  if (poison) poison->released(buffer);
}

void Executor::State::execute(std::vector<PreparedStep>& list) {
  for (PreparedStep& step : list) {
    if (auto* launched = std::get_if<PreparedLaunch>(&step)) {
      launch(*launched);
    } else if (const auto* copied = std::get_if<Copy>(&step)) {
      copy(*copied);
    } else if (const auto* record = std::get_if<RecordEvent>(&step)) {
      queue->record(record->event, record->stream);
    } else if (const auto* wait = std::get_if<WaitEvent>(&step)) {
      queue->wait(wait->event, wait->stream);
    } else if (const auto* released = std::get_if<Release>(&step)) {
      release(released->buffer);
    } else {
      PreparedLoop& loop = *std::get<std::unique_ptr<PreparedLoop>>(step);
      for (std::int64_t i = 0; i < loop.trips; ++i) {
        places.enter_iteration(loop.loop, i);
        execute(loop.bodies.at(at(loop.class_of.at(static_cast<std::size_t>(i)))));
      }
    }
  }
}

// ----------------------------------------------------------------- one run

void Executor::State::clear() {
  for (std::size_t i = 0; i < holders.size(); ++i) {
    if (program.buffers[i].space != Space::constant) holders[i] = {};
  }
  places.forget_run();
}

void Executor::State::check_nothing_live() {
  const Slab* arena = places.arena();
  if (arena == nullptr || arena->account().live == 0) return;
  throw Error(ErrorKind::internal, fmt::format("{} of the arena are still in use after a run",
                                               format_bytes(arena->account().live)));
}

// Keeps the steps as a graph. The host's part happens as in any run, so that
// landing checks and the allocator's account are those of a real one.
bool Executor::State::capture() {
  if (!options.cuda_graph || runs == 0 || !queue->begin_capture()) return false;
  try {
    execute(steps);
  } catch (...) {
    queue->cancel_capture();
    throw;
  }
  graph = queue->end_capture();
  if (stats.strays > 0)
    throw Error(ErrorKind::internal, "a captured run allocated outside of its plan");
  graph_stats = stats;
  return true;
}

void Executor::State::run_steps() {
  if (graph == nullptr && !capture()) {
    execute(steps);
    return;
  }
  graph->replay();
  const Bytes high_water = stats.arena_high_water;
  stats = graph_stats;
  stats.arena_high_water = std::max(high_water, graph_stats.arena_high_water);
}

Executor::Executor(Program program, const DeviceWeights& weights, const ExecutorOptions& options) {
  const c10::InferenceMode inference;
  if (options.cuda_graph) {
    const std::string why = cannot_capture(program);
    if (!why.empty())
      throw Error(ErrorKind::unsupported, "no CUDA graph of this model: " + why, {},
                  "leave out --cuda-graph");
  }
  state_ = std::make_unique<State>(std::move(program), weights, options);
  State& s = *state_;
  s.queue->reserve(static_cast<int>(s.program.stream_names.size()), s.program.events);
  std::vector<PreparedStep> once =
      prepare_steps(s.program, s.program.once, s.places, options.device);
  s.steps = prepare_steps(s.program, s.program.steps, s.places, options.device);
  s.random = draws_random(s.program.steps);
  if (options.poison && s.places.arena() != nullptr) s.poison.emplace(s.program, *s.places.arena());
  s.queue->begin();
  s.queue->use(0);
  s.execute(once);
  s.queue->finish();
  s.clear();
  s.check_nothing_live();
}

Executor::~Executor() {
  if (state_) state_->queue->abandon();
}

std::vector<at::Tensor> Executor::run(const std::vector<at::Tensor>& inputs, ExecStats* stats) {
  const c10::InferenceMode inference;
  State& s = *state_;
  s.stats = {};
  if (s.places.arena() != nullptr) s.places.arena()->reset_account();
  if (inputs.size() != s.program.inputs.size()) {
    throw Error(ErrorKind::bad_input, fmt::format("{} inputs where the model takes {}",
                                                  inputs.size(), s.program.inputs.size()));
  }
  std::vector<at::Tensor> outputs;
  try {
    if (s.poison) s.poison->start_over();
    s.queue->begin();
    s.queue->use(0);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      s.places.set_input(static_cast<std::int32_t>(i), inputs[i]);
    std::optional<SeedScope> seed;
    if (s.random) seed.emplace(s.options.device, s.options.seed);
    s.run_steps();
    s.queue->use(0);
    const double ms = s.queue->finish();
    s.stats.ms = ms;
    for (const SlotId slot : s.program.outputs) outputs.push_back(s.places.take_output(slot));
    if (s.options.fixed_io || s.options.cuda_graph)
      s.stats.output_bytes = s.places.fixed_output_bytes();
  } catch (...) {
    outputs.clear();
    s.queue->abandon();
    s.clear();
    s.check_nothing_live();
    rethrow_as_error("the run", {}, 0);
  }
  s.clear();
  s.check_nothing_live();
  if (const Slab* arena = s.places.arena()) {
    s.stats.arena_high_water = std::max(s.stats.arena_high_water, arena->account().high_water);
  }
  ++s.runs;
  if (stats != nullptr) *stats = s.stats;
  return outputs;
}

}  // namespace lowwater
