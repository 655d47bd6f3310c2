// DeviceWeights: which weight storages lie where.
#include "exec/weights.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "exec/executor.h"
#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr std::uintptr_t kHostAlignment = 64;

bool aligned(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kHostAlignment == 0;
}

std::string weight_in(const WeightTable& table, StorageIndex storage) {
  for (const Weight& weight : table.weights) {
    if (weight.storage == storage) return weight.name;
  }
  return fmt::format("weight storage {}", storage);
}

}  // namespace

// A storage is a window of the mapped file, or a copy inside `slab`.
struct DeviceWeights::State {
  Archive archive;  // keeps the mapping alive
  c10::Device device;
  std::vector<std::byte*> addresses;
  std::vector<bool> loaded;
  std::vector<StorageIndex> copied, mutated;
  std::vector<Bytes> sizes;  // by storage
  std::unique_ptr<Slab> slab;
  Bytes device_bytes = 0;

  State(const Archive& source, c10::Device target) : archive(source), device(target) {}

  void place(const std::vector<bool>& needed, const std::vector<bool>& is_mutated);
  void copy_in();
};

// Decides window or copy, and gives the copies their addresses.
void DeviceWeights::State::place(const std::vector<bool>& needed,
                                 const std::vector<bool>& is_mutated) {
  const WeightTable& table = archive.weights();
  const Bytes alignment = device.is_cpu() ? static_cast<Bytes>(kHostAlignment) : 512;
  addresses.assign(table.storages.size(), nullptr);
  loaded.assign(table.storages.size(), false);
  std::vector<Bytes> offsets;
  Bytes end = 0;
  for (std::size_t i = 0; i < table.storages.size(); ++i) {
    const auto storage = static_cast<StorageIndex>(i);
    sizes.push_back(table.storages[i].size);
    if (i >= needed.size() || !needed[i]) continue;
    loaded[i] = true;
    if (sizes[i] == 0) continue;
    device_bytes += sizes[i];
    const bool writes = i < is_mutated.size() && is_mutated[i];
    if (writes) mutated.push_back(storage);
    const std::span<const std::byte> bytes = archive.storage_bytes(storage);
    if (device.is_cpu() && !writes && aligned(bytes.data())) {
      // Kernels only read it; the mapping is read-only.
      addresses[i] = const_cast<std::byte*>(bytes.data());
      continue;
    }
    copied.push_back(storage);
    offsets.push_back(end);
    end = align_up(end + sizes[i], alignment);
  }
  if (end == 0) return;
  slab = std::make_unique<Slab>(device, end);
  for (std::size_t k = 0; k < copied.size(); ++k) {
    addresses[static_cast<std::size_t>(copied[k])] = slab->base() + offsets[k];
  }
}

void DeviceWeights::State::copy_in() {
  if (copied.empty()) return;
  HostCopier copier(device);
  for (const StorageIndex storage : copied) {
    copier.upload(addresses[static_cast<std::size_t>(storage)], archive.storage_bytes(storage));
  }
  copier.finish();
}

DeviceWeights::DeviceWeights(const Archive& archive, c10::Device device,
                             const std::vector<bool>& needed, const std::vector<bool>& mutated)
    : state_(std::make_unique<State>(archive, device)) {
  const WeightTable& table = archive.weights();
  for (const Weight& weight : table.weights) {
    const auto storage = static_cast<std::size_t>(weight.storage);
    if (weight.storage < 0 || storage >= needed.size() || !needed[storage]) continue;
    TensorMeta meta{weight.dtype, weight.sizes, weight.strides, weight.storage_offset, 0};
    const Bytes end = weight.storage_offset * element_size(weight.dtype) + meta.extent_bytes();
    if (end > table.storages[storage].size) {
      throw Error(ErrorKind::bad_input,
                  fmt::format("the weight needs {} bytes, its record holds {}", end,
                              table.storages[storage].size),
                  weight_in(table, weight.storage), "was the model exported without its weights?");
    }
  }
  state_->place(needed, mutated);
  state_->copy_in();
}

DeviceWeights::~DeviceWeights() = default;

std::byte* DeviceWeights::address(StorageIndex storage) const {
  return state_->addresses.at(static_cast<std::size_t>(storage));
}

bool DeviceWeights::loaded(StorageIndex storage) const {
  return state_->loaded.at(static_cast<std::size_t>(storage));
}

Bytes DeviceWeights::device_bytes() const { return state_->device_bytes; }

void DeviceWeights::exchange_state(std::vector<std::byte>& other) {
  if (state_->mutated.empty()) return;
  HostCopier copier(state_->device);
  std::vector<std::byte> current;
  for (const StorageIndex storage : state_->mutated) {
    const auto i = static_cast<std::size_t>(storage);
    const auto size = static_cast<std::size_t>(state_->sizes[i]);
    const std::size_t at = current.size();
    current.resize(at + size);
    copier.download(std::span(current).subspan(at, size), state_->addresses[i]);
    copier.upload(state_->addresses[i], other.empty() ? state_->archive.storage_bytes(storage)
                                                      : std::span(other).subspan(at, size));
  }
  copier.finish();
  other = std::move(current);
}

#ifndef LOWWATER_CUDA

struct HostCopier::Pinned {};

HostCopier::HostCopier(c10::Device) {}
HostCopier::~HostCopier() = default;
void HostCopier::upload(std::byte* to, std::span<const std::byte> from) {
  std::copy(from.begin(), from.end(), to);
}
void HostCopier::download(std::span<std::byte> to, const std::byte* from) {
  std::copy(from, from + to.size(), to.begin());
}
void HostCopier::finish() {}

#endif

}  // namespace lowwater
