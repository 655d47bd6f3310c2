#include "exec/environment.h"
#include "lowwater/error.h"

#ifdef LOWWATER_CUDA
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdlib>
#endif

namespace lowwater {

#ifdef LOWWATER_CUDA
namespace {

// Settings of libraries that PyTorch only hands on.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string cuda_environment(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, device.index()));
  int driver = 0, runtime = 0;
  C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
  C10_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  const at::Context& context = at::globalContext();
  // Multiprocessors and memory tell a partition (MIG) from the whole device.
  return fmt::format(
      "{} sm{}{} {} multiprocessors {} bytes | driver {} cuda {} cudnn {} | "
      "reduced {:d}{:d}{:d} cublas '{}' lt '{}'",
      properties.name, properties.major, properties.minor, properties.multiProcessorCount,
      properties.totalGlobalMem, driver, runtime, at::detail::getCUDAHooks().versionRuntimeCuDNN(),
      static_cast<int>(context.allowFP16ReductionCuBLAS()),
      static_cast<int>(context.allowBF16ReductionCuBLAS()), context.allowFP16AccumulationCuBLAS(),
      variable("CUBLAS_WORKSPACE_CONFIG"), variable("CUBLASLT_WORKSPACE_SIZE"));
}

#else

std::string cuda_environment(c10::Device) {
  throw Error(ErrorKind::machine,
              "CUDA is not available: the PyTorch that lowwater was built with has none");
}

#endif

}  // namespace lowwater
