// The allocator in front of PyTorch's: inside a step it answers from a script.
//
// Three modes, chosen by a thread-local scope:
//   no scope     PyTorch's own allocator answers
//   RecordScope  a slab answers, every allocation and free is written down
//   ReplayScope  the k-th allocation of the step gets its planned address
//
// Installed once per process for the CPU (c10::SetAllocator) and, when CUDA is
// used, in front of the CUDA caching allocator. Frees are recognised by
// address: what lies in a registered slab or arena is accounted there, all else
// goes to PyTorch. See docs/memory-model.md.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/step.h"
#include "base/bytes.h"

namespace lowwater {

// Idempotent and thread-safe. `cuda` needs an initialised CUDA runtime.
void install_cpu_allocator();
void install_cuda_allocator();

// A range of device memory that lowwater owns: cudaMalloc, or anonymous mmap on
// the CPU. Registered for address lookup while it lives. Throws Error(machine)
// if the memory is not to be had.
class Slab {
 public:
  Slab(c10::Device device, Bytes size);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] c10::Device device() const { return device_; }
  [[nodiscard]] bool contains(const void* address) const;

  // What the callbacks counted; never read from a plan.
  struct Account {
    Bytes live = 0;            // granted minus freed
    Bytes high_water = 0;      // highest end of a granted block, from base
    Bytes peak_live = 0;
    std::int64_t grants = 0, frees = 0;
  };
  [[nodiscard]] Account account() const;
  void reset_account();

 private:
  friend class AllocatorCore;
  c10::Device device_;
  std::byte* base_ = nullptr;
  Bytes size_ = 0;
  Account account_;
};

// Fault injection for tests: the n-th allocation from now inside a scope (0 =
// next) throws c10::OutOfMemoryError, once. Negative: off.
void fail_nth_allocation(std::int64_t n);

// What happened inside one scope beside the script.
struct ScopeReport {
  std::int64_t strays = 0;       // allocations that the script did not foresee
  Bytes stray_bytes = 0;
  std::int64_t unused = 0;       // script allocations that never came
};

// Allocations on this thread and device come from `slab` (first fit) and are
// written down. Above the slab's size: c10::OutOfMemoryError, as the operator
// would see it on a small device (cuDNN then tries its next engine).
class RecordScope {
 public:
  // `cap`: the largest single allocation granted; 0: no cap.
  explicit RecordScope(Slab& slab, Bytes alignment, Bytes cap = 0);
  ~RecordScope();
  RecordScope(const RecordScope&) = delete;
  RecordScope& operator=(const RecordScope&) = delete;

  [[nodiscard]] const std::vector<AllocEvent>& events() const;
  // Which allocation (id) the address belongs to; -1 if none of this scope's.
  [[nodiscard]] std::int32_t allocation_of(const void* address) const;

 private:
  struct State;
  State* state_;
};

// A planned allocation: `slack` accepts any size up to it (data-dependent steps).
struct PlannedAlloc {
  std::byte* address = nullptr;
  Bytes size = 0;
  bool slack = false;
};

// The k-th allocation gets planned[k] if its size matches; otherwise it is a
// stray: served by PyTorch's allocator, counted, and above `stray_limit` bytes
// (in sum over the scope) refused with c10::OutOfMemoryError.
class ReplayScope {
 public:
  ReplayScope(c10::Device device, std::span<const PlannedAlloc> planned, Bytes stray_limit);
  ~ReplayScope();
  ReplayScope(const ReplayScope&) = delete;
  ReplayScope& operator=(const ReplayScope&) = delete;

  [[nodiscard]] ScopeReport report() const;

 private:
  struct State;
  State* state_;
};

}  // namespace lowwater
