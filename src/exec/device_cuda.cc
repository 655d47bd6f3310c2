#include "exec/device_cuda.h"

#ifdef LOWWATER_CUDA

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>

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
std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string bus_id(c10::Device device) {
  std::array<char, 32> text{};
  if (cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device.index()) ==
      cudaSuccess)
    return text.data();
  (void)cudaGetLastError();
  return {};
}

// By device index: bytes in use before this process had a context there.
struct Baselines {
  std::mutex mutex;
  std::map<int, Bytes> bytes;
};
Baselines& baselines() {
  static Baselines instance;
  return instance;
}

}  // namespace

void note_cuda_baseline(c10::Device device) {
  Baselines& known = baselines();
  const std::lock_guard lock(known.mutex);
  if (known.bytes.contains(device.index())) return;
  const bool fresh = !c10::cuda::hasPrimaryContext(device.index());
  const auto others = fresh ? nvml_device_bytes(bus_id(device)) : std::nullopt;
  known.bytes[device.index()] =
      others.value_or(0);  // 0: everything counts as ours, on the safe side
}

CudaPresence cuda_presence() {
  CudaPresence presence;
  const cudaError_t status = cudaGetDeviceCount(&presence.devices);
  if (status == cudaSuccess && presence.devices > 0) return presence;
  (void)cudaGetLastError();  // or the next CUDA call would report it
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
  note_cuda_baseline(device);
  if (const auto bytes = nvml_process_bytes(bus_id(device))) return {*bytes, false};
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  const std::lock_guard lock(baselines().mutex);
  const Bytes used = static_cast<Bytes>(total - free) - baselines().bytes[device.index()];
  return {std::max<Bytes>(used, 0), true};
}

std::vector<std::string> cuda_library_versions() {
  std::vector<std::string> lines;
  int runtime = 0, driver = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess)
    lines.push_back("CUDA " + cuda_version(runtime));
  const auto version = nvml_driver_version();
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
    lines.push_back(
        fmt::format("NVIDIA driver {} (CUDA {})", version.value_or("?"), cuda_version(driver)));
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    lines.push_back(fmt::format("cuDNN {}.{}.{}", cudnn / 10000, cudnn % 10000 / 100, cudnn % 100));
  }
  return lines;
}

}  // namespace lowwater

#else

#include "lowwater/error.h"

namespace lowwater {

void note_cuda_baseline(c10::Device) {}
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
