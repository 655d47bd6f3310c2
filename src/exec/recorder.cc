#include "exec/recorder.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/estimate.h"
#include "exec/device.h"
#include "exec/recorder_device.h"
#include "exec/recorder_measure.h"
#include "exec/schemas.h"
#include "exec/scripted_allocator.h"
#include "exec/slab.h"
#include "exec/synthetic.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr Bytes kSmallestSlab = 64 * kMiB;
// Room for code that libraries load: at first, and before each new step.
constexpr Bytes kSlabRoom = 4 * kGiB;  // beside a step's own tensors: for workspaces
constexpr Bytes kFirstReserve = 256 * kMiB, kStepReserve = 96 * kMiB;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Where the system has less than asked for, what it has.
std::unique_ptr<Slab> largest_slab(c10::Device device, Bytes limit) {
  for (Bytes size = limit;; size = size / 4 * 3) {
    try {
      return std::make_unique<Slab>(device, size);
    } catch (const Error&) {
      if (size <= kSmallestSlab) throw;
    }
  }
}

// Steps that this thread ran in this process, by full key: cuDNN and cuBLASLt
// keep their plans per thread.
std::unordered_set<std::string>& warm_steps() {
  static thread_local std::unordered_set<std::string> steps;
  return steps;
}

}  // namespace

struct Recorder::State {
  RecorderOptions options;
  RecordStore* store = nullptr;
  Bytes alignment = 0;
  std::string key_prefix;
  std::unique_ptr<Slab> slab;
  std::optional<SchemaTable> schemas;  // dumped when something has to be estimated
  std::unordered_map<std::string, StepRecord> records;
  Counts counts;
  double spent_s = 0;

  StepRecord find_or_measure(const StepSpec& spec);
  StepRecord use(StepRecord& known);
  StepRecord measure(const StepSpec& spec, const std::string& key);
  StepRecord estimate(const StepSpec& spec);
  StepRecord infeasible(const StepSpec& spec);
  bool fits_by_type(const StepSpec& spec) const;
  Slab& open_slab(const StepSpec& spec);
  void grow_slab(Bytes wanted);
  Bytes room() const;
  void make_room();
  bool shrink_slab(Bytes size);
  MeasureOptions measure_options() const {
    return {alignment, options.workspace_cap, spent_s < options.time_limit_s};
  }
};

Recorder::Recorder(const RecorderOptions& options, RecordStore* store)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->store = store;
  state_->alignment = block_alignment(options.device);
  state_->key_prefix = environment_key(options.device) + " align " +
                       std::to_string(state_->alignment) + " cap " +
                       std::to_string(options.workspace_cap) + " | ";
}

Recorder::~Recorder() {
  // A library kept memory of the slab (none is known to): it must stay valid.
  if (state_->slab != nullptr && state_->slab->account().live > 0) {
    static_cast<void>(state_->slab.release());
  }
}

const StepRecord& Recorder::record(const StepSpec& spec) {
  std::string key = spec.key();
  const auto found = state_->records.find(key);
  if (found != state_->records.end()) return found->second;
  StepRecord record = state_->find_or_measure(spec);
  return state_->records.emplace(std::move(key), std::move(record)).first->second;
}

Bytes Recorder::alignment() const { return state_->alignment; }
Recorder::Counts Recorder::counts() const { return state_->counts; }
Bytes Recorder::peak_bytes() const {
  return state_->slab == nullptr ? 0 : state_->slab->account().peak_live;
}

Bytes Recorder::slab_bytes() const { return state_->slab == nullptr ? 0 : state_->slab->size(); }

// Large enough that no library feels short of room, no larger: the driver clears
// what is freed, and a card's worth of it slows the first runs down.
Slab& Recorder::State::open_slab(const StepSpec& spec) {
  Bytes step = synthetic_input_bytes(spec, alignment);
  for (const Type& type : spec.output_types) step += type.bytes();
  if (slab == nullptr) {
    install_cpu_allocator();
    if (options.device.is_cuda()) install_cuda_allocator();
    warm_up_libraries(options.device);
  }
  if (slab == nullptr || slab->size() < 2 * step + kSlabRoom / 2) grow_slab(2 * step + kSlabRoom);
  make_room();
  return *slab;
}

// To `wanted`, within the limits; nothing lives in the slab between steps.
void Recorder::State::grow_slab(Bytes wanted) {
  Bytes limit = options.slab_limit;
  const Bytes held = slab == nullptr ? 0 : slab->size();
  if (options.process_limit > 0) {
    const Bytes left = room() + held;
    limit = std::min(limit, std::max(left - kFirstReserve, left / 2));
  }
  const Bytes size = std::max(std::min(wanted, limit), block_alignment(options.device));
  if (size <= held || (slab != nullptr && slab->account().live > 0)) return;
  slab.reset();
  slab = largest_slab(options.device, size);
}

// What the process may still take.
Bytes Recorder::State::room() const {
  return options.process_limit - process_memory(options.device).bytes;
}

void Recorder::State::make_room() {
  if (options.process_limit <= 0) return;
  const Bytes missing = kStepReserve - room();
  if (missing > 0) shrink_slab(slab->size() - missing);
}

// Nothing lives in the slab between steps.
bool Recorder::State::shrink_slab(Bytes size) {
  if (slab->account().live > 0 || size < kSmallestSlab || size >= slab->size()) return false;
  slab.reset();
  slab = largest_slab(options.device, size);
  return true;
}

StepRecord Recorder::State::find_or_measure(const StepSpec& spec) {
  if (spec.variant != "aten") {
    throw Error(ErrorKind::internal, "no way to record variant " + spec.variant, spec.op);
  }
  const std::string key = key_prefix + spec.key();
  const c10::InferenceMode inference;
  const c10::DeviceGuard on_device(options.device);
  std::optional<StepRecord> known = store == nullptr ? std::nullopt : store->find(key);
  const bool warm = options.device.is_cpu() || !options.warm_up_known || warm_steps().contains(key);
  if (known && warm) return use(*known);
  if (!fits_by_type(spec)) return infeasible(spec);
  if (known) {
    // With another slab a library may choose another way than when the record was
    // made, and keep it: then the record is not of this process.
    const auto first = warm_up_step(spec, open_slab(spec), measure_options());
    // First fit may need more than the step's peak; packed addresses do not.
    if (!first && !replay_step(spec, *known, *slab, measure_options())) return infeasible(spec);
    warm_steps().insert(key);
    if (!first || first->record.events == known->events) return use(*known);
  } else if (options.time_limit_s <= 0) {
    return estimate(spec);  // beyond a limit steps are timed once: a plan of estimates cannot run
  }
  return measure(spec, key);
}

StepRecord Recorder::State::use(StepRecord& known) {
  ++counts.known;
  return std::move(known);
}

StepRecord Recorder::State::measure(const StepSpec& spec, const std::string& key) {
  const Clock::time_point start = Clock::now();
  auto measured = measure_step(spec, open_slab(spec), measure_options());
  // cuDNN keeps the engine that it chose for a slab, so a wish for more is met
  // before the record counts.
  if (!measured || measured->slab_was_full) {
    const Bytes before = slab->size();
    grow_slab(options.slab_limit);
    if (slab->size() > before) measured = measure_step(spec, *slab, measure_options());
  }
  // A cap binds only operators that have another way.
  if (!measured && options.workspace_cap > 0)
    measured = measure_step(spec, *slab, {alignment, 0, true});
  // The device may have refused a library what the slab holds without need.
  const Bytes needed = 2 * synthetic_input_bytes(spec, alignment);
  while (!measured && options.device.is_cuda() && slab->size() / 2 > needed &&
         shrink_slab(slab->size() / 2)) {
    measured = measure_step(spec, *slab, measure_options());
  }
  spent_s += seconds_since(start);
  if (!measured) return infeasible(spec);
  warm_steps().insert(key);
  ++counts.measured;
  // The key does not have the slab's size, so what depends on it is not kept.
  if (store != nullptr && !measured->slab_was_full) store->put(key, measured->record);
  return std::move(measured->record);
}

// Inputs alone must fit; outputs and temporaries are tried.
bool Recorder::State::fits_by_type(const StepSpec& spec) const {
  return synthetic_input_bytes(spec, alignment) <= options.slab_limit;
}

StepRecord Recorder::State::estimate(const StepSpec& spec) {
  if (!schemas) schemas = dump_schemas();
  ++counts.estimated;
  return estimate_step(spec, *schemas);
}

StepRecord Recorder::State::infeasible(const StepSpec& spec) {
  StepRecord record = estimate(spec);
  --counts.estimated;
  ++counts.infeasible;
  record.infeasible = true;
  record.upper_bound = synthetic_input_bytes(spec, alignment) + record.peak_bytes();
  return record;
}

}  // namespace lowwater
