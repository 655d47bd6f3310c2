#include "exec/recorder_device.h"
#include "lowwater/error.h"

#ifdef LOWWATER_CUDA
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#endif

namespace lowwater {

#ifdef LOWWATER_CUDA
namespace {

class EventTimer final : public StepTimer {
 public:
  EventTimer() {
    C10_CUDA_CHECK(cudaEventCreate(&start_));
    C10_CUDA_CHECK(cudaEventCreate(&stop_));
  }
  ~EventTimer() override {
    static_cast<void>(cudaEventDestroy(start_));
    static_cast<void>(cudaEventDestroy(stop_));
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  void start() override {
    C10_CUDA_CHECK(cudaEventRecord(start_, c10::cuda::getCurrentCUDAStream()));
  }
  double stop() override {
    C10_CUDA_CHECK(cudaEventRecord(stop_, c10::cuda::getCurrentCUDAStream()));
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    float ms = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return static_cast<double>(ms);
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

void warm_up_cuda_libraries(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(cudaFree(nullptr));  // creates the context
  // Each creates its workspace of the current stream and keeps it.
  at::cuda::getCurrentCUDABlasHandle();
  at::cuda::getCUDABlasLtWorkspace();
  C10_CUDA_CHECK(cudaDeviceSynchronize());
}

void synchronise_cuda(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(cudaDeviceSynchronize());
}

std::unique_ptr<StepTimer> make_cuda_timer(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  return std::make_unique<EventTimer>();
}

#else

namespace {
[[noreturn]] void no_cuda() {
  throw Error(ErrorKind::machine,
              "CUDA is not available: the PyTorch that lowwater was built with has none");
}
}  // namespace

void warm_up_cuda_libraries(c10::Device) { no_cuda(); }
void synchronise_cuda(c10::Device) { no_cuda(); }
std::unique_ptr<StepTimer> make_cuda_timer(c10::Device) { no_cuda(); }

#endif

}  // namespace lowwater
