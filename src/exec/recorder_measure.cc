#include "exec/recorder_measure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/call.h"
#include "exec/device.h"
#include "exec/executor_tensors.h"
#include "exec/recorder_device.h"
#include "exec/scripted_allocator.h"
#include "exec/synthetic.h"
#include "lowwater/error.h"
#include "plan/packing.h"

namespace lowwater {
namespace {

using c10::IValue;

// A step that runs longer is not repeated for the sake of its time.
constexpr double kLongMs = 500;
// What the first call may allocate beside its script when it is replayed.
constexpr Bytes kFirstCallStrays = kMiB;

// Says where results live.
class OutputReader {
 public:
  OutputReader(const StepSpec& spec, const std::vector<at::Tensor>& inputs,
               const RecordScope& scope)
      : spec_(spec), inputs_(inputs), scope_(scope) {
    for (const AllocEvent& event : scope.events()) {
      if (event.is_alloc && event.size == 0) empty_.push_back(event.id);
    }
  }

  StepOutput read(const IValue& result) {
    if (result.isNone()) return {OutputHome::absent, 0, {}};
    if (!result.isTensor()) return {OutputHome::scalar, 0, {}};
    const at::Tensor& tensor = result.toTensor();
    if (!tensor.defined()) return {OutputHome::absent, 0, {}};
    TensorMeta meta = meta_of(tensor);
    if (auto alias = alias_of_operand(tensor, meta)) return *alias;
    const void* address = tensor.storage().data();
    if (const auto id = scope_.allocation_of(address); id >= 0) {
      return {OutputHome::fresh, id, std::move(meta)};
    }
    if (meta.storage_bytes == 0 && next_empty_ < empty_.size()) {
      return {OutputHome::fresh, empty_[next_empty_++], std::move(meta)};
    }
    return {OutputHome::absent, 0, std::move(meta)};  // it lives elsewhere, on the host perhaps
  }

 private:
  // The same storage, or another that borrows memory of the operand's.
  std::optional<StepOutput> alias_of_operand(const at::Tensor& tensor,
                                             const TensorMeta& meta) const {
    const c10::Storage& storage = tensor.storage();
    const auto* begin = static_cast<const std::byte*>(storage.data());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const c10::Storage& operand = inputs_[i].storage();
      const auto* base = static_cast<const std::byte*>(operand.data());
      const bool same = storage.unsafeGetStorageImpl() == operand.unsafeGetStorageImpl();
      const bool inside = begin != nullptr && begin >= base && begin < base + operand.nbytes();
      if (!same && !inside) continue;
      StepOutput output{OutputHome::alias, static_cast<std::int32_t>(i), meta};
      output.meta.storage_offset += (begin - base) / element_size(meta.dtype);
      output.meta.storage_bytes = spec_.tensors[i].storage_bytes;
      return output;
    }
    return std::nullopt;
  }

  const StepSpec& spec_;
  const std::vector<at::Tensor>& inputs_;
  const RecordScope& scope_;
  std::vector<std::int32_t> empty_;  // allocations of 0 bytes have no address to know them by
  std::size_t next_empty_ = 0;
};

// A prepared step with its inputs in the slab.
class Bench {
 public:
  Bench(const StepSpec& spec, Slab& slab, const MeasureOptions& options, Synthetic kind)
      : spec_(spec),
        slab_(slab),
        options_(options),
        call_(spec.op, spec.args, slab.device()),
        timer_(make_timer(slab.device())) {
    const RecordScope scope(slab, options.alignment);
    inputs_ = synthetic_inputs(spec, slab.device(), kind);
    for (const at::Tensor& input : inputs_) values_.emplace_back(input);
    synchronise(slab.device());
    // Outputs are not workspace: the cap leaves them alone.
    for (const Type& type : spec.output_types) output_sizes_.push_back(type.bytes());
  }

  Measurement run() {
    StepRecord record;
    bool full = false;
    std::vector<IValue> results;  // outlives the scope: freeing results is not part of the step
    {
      const RecordScope scope(slab_, options_.alignment, options_.workspace_cap, output_sizes_);
      timer_->start();
      results = call_.run(values_);
      record.ms = timer_->stop();
      record.events = scope.events();
      full = scope.slab_was_full();
      OutputReader reader(spec_, inputs_, scope);
      for (const IValue& result : results) record.outputs.push_back(reader.read(result));
    }
    return {std::move(record), full};
  }

  // Inputs came first into the empty slab, so they fill its beginning.
  bool replay(const StepRecord& known) {
    std::vector<PackItem> items;
    const auto end = static_cast<std::int64_t>(known.events.size());
    std::unordered_map<std::int32_t, std::size_t> item_of;
    for (std::int64_t tick = 0; tick < end; ++tick) {
      const AllocEvent& event = known.events[static_cast<std::size_t>(tick)];
      if (event.is_alloc) {
        item_of[event.id] = items.size();
        items.push_back({tick, end, event.size});
      } else {
        items[item_of.at(event.id)].end = tick;
      }
    }
    const Packing packing = pack(items, {.alignment = options_.alignment});
    const Bytes begin = slab_.account().high_water;
    if (begin + packing.height > slab_.size()) return false;
    std::vector<PlannedAlloc> planned;
    for (std::size_t i = 0; i < items.size(); ++i) {
      planned.push_back({slab_.base() + begin + packing.offsets[i], items[i].size, false});
    }
    // A library's very first call may do otherwise than all that follow.
    for (const Bytes stray_limit : {kFirstCallStrays, Bytes{0}}) {
      std::vector<IValue> results;
      const ReplayScope scope(slab_.device(), planned, stray_limit);
      results = call_.run(values_);
      synchronise(slab_.device());
      const ScopeReport report = scope.report();
      if (report.strays == 0 && report.unused == 0) return true;
    }
    return false;
  }

 private:
  const StepSpec& spec_;
  Slab& slab_;
  MeasureOptions options_;
  PreparedCall call_;
  std::unique_ptr<StepTimer> timer_;
  std::vector<at::Tensor> inputs_;
  std::vector<IValue> values_;
  std::vector<Bytes> output_sizes_;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Calls `work(kind)`, with tame inputs if the operator refuses the usual ones.
// nullopt: out of memory.
template <typename Work>
auto with_inputs(const StepSpec& spec, Work&& work)
    -> std::optional<decltype(work(Synthetic::usual))> {
  std::string refusal;
  for (const Synthetic kind : {Synthetic::usual, Synthetic::tame}) {
    try {
      return work(kind);
    } catch (const Error&) {
      throw;
    } catch (const c10::OutOfMemoryError&) {
      return std::nullopt;
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    } catch (const c10::Error& error) {
      if (is_out_of_memory(error.what_without_backtrace())) return std::nullopt;
      if (refusal.empty()) refusal = first_line(error.what_without_backtrace());
    } catch (const std::exception& error) {
      if (is_out_of_memory(error.what())) return std::nullopt;
      if (refusal.empty()) refusal = first_line(error.what());
    }
  }
  throw Error(ErrorKind::unsupported, refusal, spec.op);
}

}  // namespace

std::optional<Measurement> measure_step(const StepSpec& spec, Slab& slab,
                                        const MeasureOptions& options) {
  return with_inputs(spec, [&](Synthetic kind) {
    Bench bench(spec, slab, options, kind);
    const Measurement first = bench.run();
    bool full = first.slab_was_full;  // what a library chose then it keeps
    // On the CPU the first call allocates like all others; on CUDA libraries
    // plan and load kernels in it.
    if (slab.device().is_cpu()) {
      if (first.record.ms > kLongMs || !options.repeat) return first;
    } else if (first.record.ms <= kLongMs && options.repeat) {
      full |= bench.run().slab_was_full;
    }
    Measurement last = bench.run();
    if (slab.device().is_cpu()) last.record.ms = std::min(last.record.ms, first.record.ms);
    last.slab_was_full |= full;
    return last;
  });
}

std::optional<Measurement> warm_up_step(const StepSpec& spec, Slab& slab,
                                        const MeasureOptions& options) {
  return with_inputs(spec, [&](Synthetic kind) { return Bench(spec, slab, options, kind).run(); });
}

bool replay_step(const StepSpec& spec, const StepRecord& known, Slab& slab,
                 const MeasureOptions& options) {
  slab.reset_account();
  const auto done = with_inputs(
      spec, [&](Synthetic kind) { return Bench(spec, slab, options, kind).replay(known); });
  return done.value_or(false);
}

}  // namespace lowwater
