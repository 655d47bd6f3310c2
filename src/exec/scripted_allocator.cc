#include "exec/scripted_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

namespace lowwater {
namespace {

thread_local AllocScope* cpu_scope = nullptr;
thread_local AllocScope* cuda_scope = nullptr;

AllocScope*& scope_of(c10::Device device) { return device.is_cpu() ? cpu_scope : cuda_scope; }

std::atomic<std::int64_t> allocations_until_failure{-1};

void fail_if_asked() {
  if (allocations_until_failure.load(std::memory_order_relaxed) < 0) return;
  if (allocations_until_failure.fetch_sub(1) == 0) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory (injected by a test)");
  }
}

// Stands in front of PyTorch's CPU allocator.
class ScriptedCpuAllocator final : public c10::Allocator {
 public:
  explicit ScriptedCpuAllocator(c10::Allocator* native) : native_(native) {}

  c10::DataPtr allocate(std::size_t size) override {
    AllocScope* scope = AllocScope::current(c10::kCPU);
    if (scope == nullptr) return native_->allocate(size);
    const AllocScope::Grant grant = scope->take(static_cast<Bytes>(size));
    if (grant.native) return native_->allocate(size);
    return {grant.address, grant.address, &release_granted, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_any; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

  static ScriptedCpuAllocator*& instance() {
    static ScriptedCpuAllocator* allocator = nullptr;
    return allocator;
  }

 private:
  // For what a scope granted. The slab may be gone: then there is nothing to do.
  static void release_granted(void* address) {
    if (AllocScope* scope = AllocScope::current(c10::kCPU)) scope->freed(address);
    if (Slab* slab = Slab::find(address)) slab->release(address);
  }
  // For raw pointers, which do not say who served them.
  static void release_any(void* address) {
    if (Slab::find(address) != nullptr) {
      release_granted(address);
    } else {
      instance()->native_->raw_deallocate(address);
    }
  }

  c10::Allocator* native_;
};

// Above every priority that PyTorch uses itself.
constexpr std::uint8_t kPriority = 200;

}  // namespace

void install_cpu_allocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Never destroyed: tensors outlive main().
    auto* allocator = new ScriptedCpuAllocator(c10::GetAllocator(c10::kCPU));
    ScriptedCpuAllocator::instance() = allocator;
    c10::SetAllocator(c10::kCPU, allocator, kPriority);
  });
}

void fail_nth_allocation(std::int64_t n) { allocations_until_failure.store(n); }

AllocScope::AllocScope(c10::Device device) : device_(device), previous_(scope_of(device)) {
  scope_of(device) = this;
}

AllocScope::~AllocScope() { scope_of(device_) = previous_; }

AllocScope* AllocScope::current(c10::Device device) {
  AllocScope* scope = scope_of(device);
  if (scope == nullptr || device.is_cpu()) return scope;
  return scope->device_.index() == device.index() ? scope : nullptr;
}

RecordScope::RecordScope(Slab& slab, Bytes alignment, Bytes cap, std::vector<Bytes> exempt)
    : AllocScope(slab.device()),
      slab_(slab),
      alignment_(alignment),
      cap_(cap),
      exempt_(std::move(exempt)) {}

RecordScope::~RecordScope() = default;

AllocScope::Grant RecordScope::take(Bytes size) {
  fail_if_asked();
  if (size == 0) {
    events_.push_back({true, next_id_++, 0});
    return {false, nullptr};
  }
  const bool capped =
      cap_ > 0 && size > cap_ && std::find(exempt_.begin(), exempt_.end(), size) == exempt_.end();
  TORCH_CHECK_WITH(OutOfMemoryError, !capped, "out of memory: an allocation of ",
                   format_bytes(size), " is above the workspace cap of ", format_bytes(cap_));
  std::byte* address = slab_.grant_first_fit(size, alignment_);
  if (address == nullptr) slab_was_full_ = true;
  TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr, "out of memory: no room for ",
                   format_bytes(size), " in a slab of ", format_bytes(slab_.size()));
  latest_[address] = next_id_;
  events_.push_back({true, next_id_++, size});
  return {false, address};
}

void RecordScope::freed(const void* address) {
  const std::int32_t id = allocation_of(address);
  if (id >= 0) events_.push_back({false, id, 0});
}

std::int32_t RecordScope::allocation_of(const void* address) const {
  const auto found = latest_.find(address);
  return found == latest_.end() ? -1 : found->second;
}

ReplayScope::ReplayScope(c10::Device device, std::span<const PlannedAlloc> planned,
                         Bytes stray_limit)
    : AllocScope(device), planned_(planned), stray_limit_(stray_limit) {}

ReplayScope::~ReplayScope() = default;

AllocScope::Grant ReplayScope::take(Bytes size) {
  fail_if_asked();
  const PlannedAlloc* planned = next_ < planned_.size() ? &planned_[next_] : nullptr;
  const bool fits = planned != nullptr &&
                    (planned->slack ? size <= planned->size : size == planned->size) &&
                    !overlaps_live(*planned);
  if (fits) ++next_;
  if (size == 0) return {false, nullptr};
  if (!fits) {
    ++report_.strays;
    report_.stray_bytes += size;
    TORCH_CHECK_WITH(OutOfMemoryError, report_.stray_bytes <= stray_limit_,
                     "out of memory: the operator allocates ", format_bytes(size),
                     " where the plan has ", planned ? format_bytes(planned->size) : "nothing",
                     ", more than the reserve of ", format_bytes(stray_limit_));
    return {};
  }
  if (planned->address == nullptr) {
    report_.caller_bytes += size;
    return {};
  }
  if (slab_ == nullptr || !slab_->contains(planned->address)) slab_ = Slab::find(planned->address);
  if (slab_ != nullptr) slab_->grant(planned->address, size);
  live_.push_back(planned);
  return {false, planned->address};
}

void ReplayScope::freed(const void* address) {
  const auto found = std::find_if(live_.begin(), live_.end(), [&](const PlannedAlloc* planned) {
    return planned->address == address;
  });
  if (found != live_.end()) live_.erase(found);
}

bool ReplayScope::overlaps_live(const PlannedAlloc& planned) const {
  return std::any_of(live_.begin(), live_.end(), [&](const PlannedAlloc* other) {
    return planned.address < other->address + other->size &&
           other->address < planned.address + planned.size;
  });
}

ScopeReport ReplayScope::report() const {
  ScopeReport report = report_;
  report.unused = static_cast<std::int64_t>(planned_.size() - next_);
  return report;
}

}  // namespace lowwater
