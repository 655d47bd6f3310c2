// Compiled at configure time: the parts of PyTorch whose interface moves.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/InferenceMode.h>
#ifdef LOWWATER_CUDA
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>
struct Probe final : torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator {
  using torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator::CUDAPluggableAllocator;
  c10::DataPtr allocate(size_t) override { return {}; }
  void emptyCache(c10::MempoolId_t) override {}
};
void install(Probe& p) { c10::cuda::CUDACachingAllocator::allocator.store(&p); }
#endif
int main() {
  return c10::Dispatcher::singleton().findSchema({"aten::relu", ""}).has_value() ? 0 : 1;
}
