// The allocator in front of PyTorch's: inside a step it answers from a script.
//
// Modes, chosen by a thread-local scope:
//   no scope     PyTorch's own allocator answers
//   RecordScope  a slab answers, every allocation and free is written down
//   ReplayScope  the k-th allocation of the step gets its planned address
//   NativeScope  PyTorch's own again, inside one of the others
//
// Installed once per process for the CPU (c10::SetAllocator) and, when CUDA is
// used, in front of the CUDA caching allocator. Frees are recognised by
// address: what lies in a registered slab is accounted there, all else goes to
// PyTorch. A scope answers for one device and for the thread that opened it;
// what worker threads allocate comes from PyTorch. See docs/memory-model.md.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/step.h"
#include "base/bytes.h"
#include "exec/slab.h"

namespace lowwater {

// Idempotent and thread-safe. CUDA's initialises CUDA; it throws c10::Error if there is none.
void install_cpu_allocator();
void install_cuda_allocator();

// Fault injection for tests: the n-th allocation from now inside a recording or
// replaying scope (0 = next) throws c10::OutOfMemoryError, once. Negative: off.
void fail_nth_allocation(std::int64_t n);

// What an allocator asks of the scope that is open on its thread. Scopes of one
// thread nest; those of different device types do not see each other.
class AllocScope {
 public:
  AllocScope(const AllocScope&) = delete;
  AllocScope& operator=(const AllocScope&) = delete;

  // The innermost scope of this thread for the device; nullptr: none.
  static AllocScope* current(c10::Device device);

  struct Grant {
    bool native = true;       // PyTorch's allocator serves it
    void* address = nullptr;  // null and not native: an allocation of 0 bytes
  };
  // Throws c10::OutOfMemoryError.
  virtual Grant take(Bytes size) = 0;
  // A block of some slab was freed on this thread while the scope was open.
  virtual void freed(const void* address) = 0;

 protected:
  explicit AllocScope(c10::Device device);
  ~AllocScope();

 private:
  c10::Device device_;
  AllocScope* previous_;
};

class NativeScope final : AllocScope {
 public:
  explicit NativeScope(c10::Device device) : AllocScope(device) {}

 private:
  Grant take(Bytes) override { return {}; }
  void freed(const void*) override {}
};

// Allocations come from `slab` (first fit) and are written down. Where the slab
// has no room: c10::OutOfMemoryError, as the operator would see it on a small
// device (cuDNN then tries its next engine).
class RecordScope final : AllocScope {
 public:
  // `cap`: the largest single allocation granted, 0 for none; sizes listed in
  // `exempt` (the step's outputs) are granted above it.
  RecordScope(Slab& slab, Bytes alignment, Bytes cap = 0, std::vector<Bytes> exempt = {});
  ~RecordScope();

  [[nodiscard]] const std::vector<AllocEvent>& events() const { return events_; }
  // Which allocation (id) the address belongs to, live or not; the latest one
  // where several had it, -1 if none.
  [[nodiscard]] std::int32_t allocation_of(const void* address) const;
  // The slab refused at least one allocation because it was full.
  [[nodiscard]] bool slab_was_full() const { return slab_was_full_; }

 private:
  Grant take(Bytes size) override;
  void freed(const void* address) override;

  Slab& slab_;
  Bytes alignment_, cap_;
  std::vector<Bytes> exempt_;
  bool slab_was_full_ = false;
  std::int32_t next_id_ = 0;
  std::vector<AllocEvent> events_;
  std::unordered_map<const void*, std::int32_t> latest_;  // address -> id
};

// A planned allocation. `address` null: an output for the caller, served by
// PyTorch's allocator. `slack` accepts any size up to `size` (data-dependent steps).
struct PlannedAlloc {
  std::byte* address = nullptr;
  Bytes size = 0;
  bool slack = false;
};

// What happened inside one scope beside the script.
struct ScopeReport {
  std::int64_t strays = 0;  // allocations that the script did not foresee
  Bytes stray_bytes = 0;
  std::int64_t unused = 0;  // script allocations that never came
  Bytes caller_bytes = 0;   // granted for outputs of the caller
};

// The k-th allocation gets planned[k] if its size matches and no block that
// this scope granted and that still lives overlaps it (the live set differs from
// the recorded one). Otherwise it is a stray: served by PyTorch's allocator,
// counted, and above `stray_limit` bytes (in sum over the scope) refused with
// c10::OutOfMemoryError. Allocations of 0 bytes are never strays.
class ReplayScope final : AllocScope {
 public:
  // `planned` must outlive the scope.
  ReplayScope(c10::Device device, std::span<const PlannedAlloc> planned, Bytes stray_limit);
  ~ReplayScope();

  [[nodiscard]] ScopeReport report() const;

 private:
  Grant take(Bytes size) override;
  void freed(const void* address) override;
  [[nodiscard]] bool overlaps_live(const PlannedAlloc& planned) const;

  std::span<const PlannedAlloc> planned_;
  std::size_t next_ = 0;
  Bytes stray_limit_;
  ScopeReport report_;
  Slab* slab_ = nullptr;                   // where the last grant was
  std::vector<const PlannedAlloc*> live_;  // granted here and not yet freed
};

}  // namespace lowwater
