// HostCopier where CUDA is compiled in; the CPU takes the same class.
#ifdef LOWWATER_CUDA

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "exec/weights.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20;

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw Error(ErrorKind::machine, std::string(doing) + ": " + cudaGetErrorString(status));
}

}  // namespace

// Two pieces: one is filled by the host while the other travels.
struct HostCopier::Pinned {
  c10::cuda::CUDAGuard guard;
  c10::cuda::CUDAStream stream;
  std::byte* memory = nullptr;
  std::array<cudaEvent_t, 2> done{};
  std::size_t next = 0;

  explicit Pinned(c10::Device device)
      : guard(device), stream(c10::cuda::getStreamFromPool(false, device.index())) {
    check(cudaHostAlloc(reinterpret_cast<void**>(&memory), 2 * kPiece, cudaHostAllocDefault),
          "allocating a pinned staging buffer");
    for (cudaEvent_t& event : done) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    }
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() {
    (void)cudaStreamSynchronize(stream);
    for (cudaEvent_t event : done) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (memory != nullptr) (void)cudaFreeHost(memory);
  }
};

HostCopier::HostCopier(c10::Device device) {
  if (device.is_cuda()) pinned_ = new Pinned(device);
}

HostCopier::~HostCopier() { delete pinned_; }

void HostCopier::upload(std::byte* to, std::span<const std::byte> from) {
  if (pinned_ == nullptr) {
    std::copy(from.begin(), from.end(), to);
    return;
  }
  while (!from.empty()) {
    const std::size_t size = std::min(kPiece, from.size());
    const std::size_t half = pinned_->next;
    pinned_->next = 1 - half;
    check(cudaEventSynchronize(pinned_->done[half]), "waiting for a copy");
    std::byte* piece = pinned_->memory + half * kPiece;
    std::memcpy(piece, from.data(), size);
    check(cudaMemcpyAsync(to, piece, size, cudaMemcpyHostToDevice, pinned_->stream),
          "copying weights to the device");
    check(cudaEventRecord(pinned_->done[half], pinned_->stream), "recording an event");
    to += size;
    from = from.subspan(size);
  }
}

void HostCopier::download(std::span<std::byte> to, const std::byte* from) {
  if (pinned_ == nullptr) {
    std::copy(from, from + to.size(), to.begin());
    return;
  }
  // Rare (a model's state): plain and in order after what was uploaded.
  check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, pinned_->stream),
        "copying from the device");
  finish();
}

void HostCopier::finish() {
  if (pinned_ != nullptr) check(cudaStreamSynchronize(pinned_->stream), "copying weights");
}

}  // namespace lowwater

#endif
