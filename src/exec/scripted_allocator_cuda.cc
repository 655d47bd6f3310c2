#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

#ifdef LOWWATER_CUDA
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>
#endif

namespace lowwater {

#ifdef LOWWATER_CUDA
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using Pluggable = torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator;
using c10::DeviceIndex;
using c10::cuda::MempoolId_t;

// Stands in front of the allocator that PyTorch uses. Only the five functions
// that serve and free memory look at the scope; all others are handed on, also
// those that the pluggable base class refuses, because CUDA graphs, memory
// pools and snapshots of the surrounding Python program rely on them.
class ScriptedCudaAllocator final : public Pluggable {
 public:
  explicit ScriptedCudaAllocator(caching::CUDAAllocator* native)
      : Pluggable([](std::size_t, int, cudaStream_t) -> void* { return nullptr; },
                  [](void*, std::size_t, int, cudaStream_t) {}),
        native_(native) {}

  static ScriptedCudaAllocator*& instance() {
    static ScriptedCudaAllocator* allocator = nullptr;
    return allocator;
  }

  // Serving and freeing.
  c10::DataPtr allocate(std::size_t size) override {
    const c10::Device device(c10::kCUDA, c10::cuda::current_device());
    AllocScope* scope = AllocScope::current(device);
    if (scope == nullptr) return native_->allocate(size);
    const AllocScope::Grant grant = scope->take(static_cast<Bytes>(size));
    if (grant.native) return native_->allocate(size);
    return {grant.address, grant.address, &release_granted, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_any; }
  void* raw_alloc(std::size_t size) override {
    const AllocScope::Grant grant = take(size);
    return grant.native ? native_->raw_alloc(size) : grant.address;
  }
  void* raw_alloc_with_stream(std::size_t size, cudaStream_t stream) override {
    const AllocScope::Grant grant = take(size);
    return grant.native ? native_->raw_alloc_with_stream(size, stream) : grant.address;
  }
  void raw_delete(void* address) override { release_any(address); }
  // Order between streams inside a slab is the plan's business.
  void recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) override {
    if (Slab::find(data.get()) == nullptr) native_->recordStream(data, stream);
  }
  void* getBaseAllocation(void* address, std::size_t* size) override {
    Slab* slab = Slab::find(address);
    if (slab == nullptr) return native_->getBaseAllocation(address, size);
    if (size != nullptr) *size = static_cast<std::size_t>(slab->size());
    return slab->base();
  }

  // Handed on.
  void init(int count) override { native_->init(count); }
  bool initialized() override { return native_->initialized(); }
  std::string name() override { return native_->name(); }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return native_->is_simple_data_ptr(data);
  }
  double getMemoryFraction(DeviceIndex d) override { return native_->getMemoryFraction(d); }
  void setMemoryFraction(double fraction, DeviceIndex d) override {
    native_->setMemoryFraction(fraction, d);
  }
  std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(DeviceIndex d) override {
    return native_->getExpandableSegmentSizes(d);
  }
  void enable(bool value) override { native_->enable(value); }
  bool isEnabled() const override { return native_->isEnabled(); }
  void emptyCache(MempoolId_t pool) override { native_->emptyCache(pool); }
  void cacheInfo(DeviceIndex d, std::size_t* largest) override { native_->cacheInfo(d, largest); }
  std::pair<std::size_t, std::size_t> getMemoryInfo(DeviceIndex d) override {
    return native_->getMemoryInfo(d);
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex d) override {
    return native_->getDeviceStats(d);
  }
  void resetAccumulatedStats(DeviceIndex d) override { native_->resetAccumulatedStats(d); }
  void resetPeakStats(DeviceIndex d) override { native_->resetPeakStats(d); }
  caching::SnapshotInfo snapshot(MempoolId_t pool, bool traces) override {
    return native_->snapshot(pool, traces);
  }
  void beginAllocateToPool(DeviceIndex d, MempoolId_t pool,
                           std::function<bool(cudaStream_t)> filter) override {
    native_->beginAllocateToPool(d, pool, std::move(filter));
  }
  void endAllocateToPool(DeviceIndex d, MempoolId_t pool) override {
    native_->endAllocateToPool(d, pool);
  }
  void releasePool(DeviceIndex d, MempoolId_t pool) override { native_->releasePool(d, pool); }
  int getPoolUseCount(DeviceIndex d, MempoolId_t pool) override {
    return native_->getPoolUseCount(d, pool);
  }
  void createOrIncrefPool(DeviceIndex d, MempoolId_t pool,
                          std::shared_ptr<caching::CUDAAllocator> allocator) override {
    native_->createOrIncrefPool(d, pool, std::move(allocator));
  }
  void setUseOnOOM(DeviceIndex d, MempoolId_t pool, bool use) override {
    native_->setUseOnOOM(d, pool, use);
  }
  void setNoSplit(DeviceIndex d, MempoolId_t pool) override { native_->setNoSplit(d, pool); }
  bool checkPoolLiveAllocations(DeviceIndex d, MempoolId_t pool,
                                const std::unordered_set<void*>& expected) override {
    return native_->checkPoolLiveAllocations(d, pool, expected);
  }
  caching::ShareableHandle shareIpcHandle(void* address) override {
    return native_->shareIpcHandle(address);
  }
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override {
    return native_->getIpcDevPtr(std::move(handle));
  }
  bool isHistoryEnabled() override { return native_->isHistoryEnabled(); }
  void recordHistory(bool enabled, caching::CreateContextFn context, std::size_t max_entries,
                     caching::RecordContext when, bool clear,
                     const std::vector<std::string>& skip) override {
    native_->recordHistory(enabled, context, max_entries, when, clear, skip);
  }
  void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& pairs) override {
    native_->recordAnnotation(pairs);
  }
  void pushCompileContext(std::string& context) override { native_->pushCompileContext(context); }
  void popCompileContext() override { native_->popCompileContext(); }
  void setUserMetadata(const std::string& metadata) override { native_->setUserMetadata(metadata); }
  std::string getUserMetadata() override { return native_->getUserMetadata(); }
  void attachOutOfMemoryObserver(caching::OutOfMemoryObserver observer) override {
    native_->attachOutOfMemoryObserver(std::move(observer));
  }
  void attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker) override {
    native_->attachAllocatorTraceTracker(std::move(tracker));
  }
  void enablePeerAccess(DeviceIndex from, DeviceIndex to) override {
    native_->enablePeerAccess(from, to);
  }
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device,
                          std::size_t count, cudaStream_t stream, bool p2p) override {
    return native_->memcpyAsync(to, to_device, from, from_device, count, stream, p2p);
  }
  std::shared_ptr<caching::AllocatorState> getCheckpointState(DeviceIndex d,
                                                              MempoolId_t pool) override {
    return native_->getCheckpointState(d, pool);
  }
  caching::CheckpointDelta setCheckpointPoolState(
      DeviceIndex d, std::shared_ptr<caching::AllocatorState> state) override {
    return native_->setCheckpointPoolState(d, std::move(state));
  }

 private:
  static AllocScope::Grant take(std::size_t size) {
    const c10::Device device(c10::kCUDA, c10::cuda::current_device());
    AllocScope* scope = AllocScope::current(device);
    return scope == nullptr ? AllocScope::Grant{} : scope->take(static_cast<Bytes>(size));
  }
  static void release_in(Slab* slab, void* address) {
    if (AllocScope* scope = AllocScope::current(slab->device())) scope->freed(address);
    slab->release(address);
  }
  // For what a scope granted. The slab may be gone: then there is nothing to do.
  static void release_granted(void* address) {
    if (Slab* slab = Slab::find(address)) release_in(slab, address);
  }
  // For raw pointers, which do not say who served them.
  static void release_any(void* address) {
    if (Slab* slab = Slab::find(address)) {
      release_in(slab, address);
    } else {
      instance()->native_->raw_delete(address);
    }
  }

  caching::CUDAAllocator* native_;
};

}  // namespace

void install_cuda_allocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    // Never destroyed: tensors outlive main().
    auto* allocator = new ScriptedCudaAllocator(caching::get());
    ScriptedCudaAllocator::instance() = allocator;
    caching::allocator.store(allocator);
  });
}

#else

void install_cuda_allocator() {
  throw Error(ErrorKind::machine,
              "CUDA is not available: the PyTorch that lowwater was built with has none");
}

#endif

}  // namespace lowwater
