#include "exec/slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <shared_mutex>

#include "lowwater/error.h"

namespace lowwater {
namespace {

// Every slab of the process, by base address. Leaked on purpose: tensors may be
// freed while static objects are destroyed.
struct Registry {
  std::shared_mutex mutex;
  std::map<const std::byte*, Slab*> slabs;
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

std::byte* host_memory(Bytes size) {
  // NORESERVE: a slab may be as large as a budget and be touched only in part.
  void* address = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::machine,
                "the system refused " + format_bytes(size) + " of memory: " + std::strerror(errno));
  }
  return static_cast<std::byte*>(address);
}

}  // namespace

Slab::Slab(c10::Device device, Bytes size) : device_(device), size_(std::max<Bytes>(size, 1)) {
  base_ = device.is_cpu() ? host_memory(size_) : cuda_slab_memory(device, size_);
  std::unique_lock lock(registry().mutex);
  registry().slabs.emplace(base_, this);
}

Slab::~Slab() {
  {
    std::unique_lock lock(registry().mutex);
    registry().slabs.erase(base_);
  }
  if (device_.is_cpu()) {
    munmap(base_, static_cast<std::size_t>(size_));
  } else {
    free_cuda_slab_memory(device_, base_);
  }
}

bool Slab::contains(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= base_ && byte < base_ + size_;
}

Slab::Account Slab::account() const {
  std::lock_guard lock(mutex_);
  return account_;
}

void Slab::reset_account() {
  std::lock_guard lock(mutex_);
  Bytes end = 0;
  for (const auto& [address, block] : blocks_)
    end = std::max(end, align_up(address - base_ + block.size, block_alignment(device_)));
  account_ = {account_.live, end, account_.live, 0, 0};
}

Slab* Slab::find(const void* address) {
  std::shared_lock lock(registry().mutex);
  auto after = registry().slabs.upper_bound(static_cast<const std::byte*>(address));
  if (after == registry().slabs.begin()) return nullptr;
  Slab* slab = std::prev(after)->second;
  return slab->contains(address) ? slab : nullptr;
}

void Slab::grant(std::byte* address, Bytes size) {
  std::lock_guard lock(mutex_);
  grant_locked(address, size);
}

std::byte* Slab::grant_first_fit(Bytes size, Bytes alignment) {
  std::lock_guard lock(mutex_);
  Bytes offset = 0;
  for (const auto& [address, block] : blocks_) {
    if (address - base_ >= offset + size) break;  // the gap before this block is wide enough
    offset = std::max(offset, align_up(address - base_ + block.size, alignment));
  }
  if (size > size_ - offset) return nullptr;
  grant_locked(base_ + offset, size);
  return base_ + offset;
}

void Slab::grant_locked(std::byte* address, Bytes size) {
  trim_overlapped(address, address + size);
  Block& block = blocks_[address];
  block.size = size;
  ++block.owners;
  account_.live += size;
  account_.peak_live = std::max(account_.peak_live, account_.live);
  const Bytes end = align_up(address - base_ + size, block_alignment(device_));
  account_.high_water = std::max(account_.high_water, end);
  ++account_.grants;
}

// Takes [begin, end) away from the blocks that hold it. Of a block cut in the
// middle the front remains.
void Slab::trim_overlapped(std::byte* begin, std::byte* end) {
  const auto set_size = [this](Block& block, Bytes size) {
    account_.live += size - block.size;
    block.size = size;
  };
  auto next = blocks_.lower_bound(begin);
  for (auto before = next; before != blocks_.begin();) {
    --before;
    if (before->second.size == 0) continue;  // replaced; what precedes it may still reach here
    if (before->first + before->second.size > begin)
      set_size(before->second, begin - before->first);
    break;
  }
  for (; next != blocks_.end() && next->first < end; ++next) set_size(next->second, 0);
}

void Slab::release(const void* address) {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(const_cast<std::byte*>(static_cast<const std::byte*>(address)));
  if (found == blocks_.end()) return;
  ++account_.frees;
  if (--found->second.owners > 0) return;
  account_.live -= found->second.size;
  blocks_.erase(found);
}

}  // namespace lowwater
