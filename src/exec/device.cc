#include "exec/device.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "exec/device_cuda.h"
#include "exec/device_host.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

// What libraries say when memory is what they lack, in lower case. Handles and
// plans are created outside of the allocator, so that "not initialized" is most
// often this; NVML asserts stand in for an out-of-memory error inside containers.
constexpr std::array<std::string_view, 17> kOutOfMemory = {
    "out of memory",
    "cublas_status_alloc_failed",
    "cublas_status_not_initialized",
    "cudnn_status_alloc_failed",
    "cudnn_status_not_initialized",
    "cudnn_status_internal_error_host_allocation_failed",
    "cufft_alloc_failed",
    "cufft_internal_error",
    "cusolver_status_alloc_failed",
    "cusparse_status_alloc_failed",
    "unable to find an engine to execute this computation",
    "unable to find a valid cudnn algorithm",
    "nvml_success == r",
    "free_upper_bound + pytorch_used_bytes",
    "can't allocate memory",
    "cannot allocate memory",
    "std::bad_alloc",
};

// The index in "cuda:3"; -1 for anything else.
int cuda_index(std::string_view name) {
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  int index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && !name.empty() && name.front() != '-' ? index : -1;
}

std::string available_devices() {
  std::vector<std::string> names = {"cpu"};
  for (const c10::Device device : cuda_devices()) names.push_back(device.str());
  return fmt::format("available devices: {}", fmt::join(names, ", "));
}

}  // namespace

c10::Device parse_device(const std::string& name) {
  if (name == "cpu") return {c10::kCPU};
  const int index = cuda_index(name);
  if (index < 0) {
    throw Error(ErrorKind::bad_input, fmt::format("\"{}\" is not a device", name), {},
                "write cpu or cuda:0; " + available_devices());
  }
  const CudaPresence presence = cuda_presence();
  if (index >= presence.devices) {
    const std::string why = presence.devices > 0 ? "there is no such GPU" : presence.why_none;
    throw Error(ErrorKind::machine, name + " is not available: " + why, {}, available_devices());
  }
  const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  note_cuda_baseline(device);
  return device;
}

DeviceInfo device_info(c10::Device device) {
  if (device.is_cuda()) return cuda_device_info(device);
  const HostMemory memory = host_memory();
  return {host_name(), memory.total, memory.free, 0};
}

std::vector<c10::Device> cuda_devices() {
  std::vector<c10::Device> devices;
  for (int i = 0; i < cuda_presence().devices; ++i) {
    devices.emplace_back(c10::kCUDA, static_cast<c10::DeviceIndex>(i));
  }
  return devices;
}

ProcessMemory process_memory(c10::Device device) {
  if (device.is_cuda()) return cuda_process_memory(device);
  return {host_process_bytes(), false};
}

std::vector<std::string> library_versions() {
  std::vector<std::string> lines = {std::string("PyTorch ") + TORCH_VERSION};
  for (const std::string& line : cuda_library_versions()) lines.push_back(line);
  lines.push_back(at::get_mkldnn_version());
  lines.push_back(at::get_mkl_version());
  lines.push_back("CPU kernels for " + at::get_cpu_capability());
  return lines;
}

bool is_out_of_memory(const std::string& message) {
  std::string lower = message;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kOutOfMemory.begin(), kOutOfMemory.end(), [&](std::string_view words) {
    return lower.find(words) != std::string::npos;
  });
}

}  // namespace lowwater
