#include "exec/device_cuda.h"

#ifdef LOWWATER_CUDA

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>

#include "exec/nvml.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw Error(ErrorKind::machine, std::string(doing) + ": " + cudaGetErrorString(status));
}

// 13000 -> "13.0"
std::string cuda_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

}  // namespace

CudaPresence cuda_presence() {
  CudaPresence presence;
  const cudaError_t status = cudaGetDeviceCount(&presence.devices);
  if (status == cudaSuccess && presence.devices > 0) return presence;
  (void)cudaGetLastError();   // or the next CUDA call would report it
  presence.devices = 0;
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    presence.why_none = "no NVIDIA driver found";
  } else if (status == cudaErrorInsufficientDriver) {
    int runtime = 0;
    (void)cudaRuntimeGetVersion(&runtime);
    presence.why_none = fmt::format("the NVIDIA driver supports CUDA {}, PyTorch needs {}",
                                    cuda_version(driver), cuda_version(runtime));
  } else {
    presence.why_none = status == cudaSuccess ? "no NVIDIA GPU found" : cudaGetErrorString(status);
  }
  return presence;
}

DeviceInfo cuda_device_info(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device.index()), "asking for the device's properties");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  return {properties.name, static_cast<Bytes>(total), static_cast<Bytes>(free),
          properties.major * 10 + properties.minor};
}

ProcessMemory cuda_process_memory(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  std::array<char, 32> bus{};
  if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device.index()) == cudaSuccess) {
    if (const auto bytes = nvml_process_bytes(bus.data())) return {*bytes, false};
  }
  (void)cudaGetLastError();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  return {static_cast<Bytes>(total - free), true};
}

std::vector<std::string> cuda_library_versions() {
  std::vector<std::string> lines;
  int runtime = 0, driver = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) lines.push_back("CUDA " + cuda_version(runtime));
  const auto version = nvml_driver_version();
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
    lines.push_back(fmt::format("NVIDIA driver {} (CUDA {})", version.value_or("?"), cuda_version(driver)));
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    lines.push_back(fmt::format("cuDNN {}.{}.{}", cudnn / 10000, cudnn % 10000 / 100, cudnn % 100));
  }
  return lines;
}

}  // namespace lowwater

#else

#include "lowwater/error.h"

namespace lowwater {

CudaPresence cuda_presence() { return {0, "this build of lowwater runs on the CPU only"}; }
DeviceInfo cuda_device_info(c10::Device device) {
  throw Error(ErrorKind::machine, cuda_presence().why_none, device.str());
}
ProcessMemory cuda_process_memory(c10::Device device) {
  throw Error(ErrorKind::machine, cuda_presence().why_none, device.str());
}
std::vector<std::string> cuda_library_versions() { return {}; }

}  // namespace lowwater

#endif
