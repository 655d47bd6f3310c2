// A range of device memory that lowwater owns, and the account of what the
// allocator's callbacks granted and freed in it.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/bytes.h"

namespace lowwater {

// What addresses are multiples of: as PyTorch's own allocators have it, since
// kernels are chosen by it. A block takes whole multiples.
inline Bytes block_alignment(c10::Device device) { return device.is_cpu() ? 64 : 512; }

// cudaMalloc, or anonymous mmap on the CPU (pages count once touched).
// Registered for lookup by address while it lives. Thread-safe.
class Slab {
 public:
  // Throws Error(machine) if the memory is not to be had.
  Slab(c10::Device device, Bytes size);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  // Blocks that still live lose their memory; freeing them later does nothing.
  ~Slab();

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] c10::Device device() const { return device_; }
  [[nodiscard]] bool contains(const void* address) const;

  // What the callbacks counted; never read from a plan.
  struct Account {
    Bytes live = 0;        // granted minus freed, shared bytes once
    Bytes high_water = 0;  // highest end of a granted block, from base, aligned
    Bytes peak_live = 0;
    std::int64_t grants = 0, frees = 0;
  };
  [[nodiscard]] Account account() const;
  // Forgets peaks and counts; what lives stays.
  void reset_account();

  // The registered slab that contains the address; nullptr: none.
  static Slab* find(const void* address);

  // Called by the scopes. A grant on top of live blocks replaces them: their
  // overlapped bytes count for the new block, and their own frees change nothing.
  void grant(std::byte* address, Bytes size);
  // Grants the lowest free range; nullptr if there is none.
  std::byte* grant_first_fit(Bytes size, Bytes alignment);
  void release(const void* address);

 private:
  // By address; extents do not overlap. `owners` grants still have to be freed;
  // the extent is empty where a newer grant took the place over.
  //
  //   x granted [0,100)     {0: 100 bytes, 1 owner}
  //   relu(x) at 0          {0: 100 bytes, 2 owners}    live = 100
  //   x freed               {0: 100 bytes, 1 owner}     live = 100
  struct Block {
    Bytes size = 0;
    std::int32_t owners = 0;
  };
  void grant_locked(std::byte* address, Bytes size);
  void trim_overlapped(std::byte* begin, std::byte* end);

  c10::Device device_;
  std::byte* base_ = nullptr;
  Bytes size_ = 0;
  mutable std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;
  Account account_;
};

// The memory itself, by device type; used by Slab. CUDA's are in slab_cuda.cc.
std::byte* cuda_slab_memory(c10::Device device, Bytes size);
void free_cuda_slab_memory(c10::Device device, std::byte* address);

}  // namespace lowwater
