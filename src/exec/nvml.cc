#include "exec/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <vector>

namespace lowwater {
namespace {

// The parts of nvml.h that are used; that header is not in PyTorch's packages.
struct ProcessInfo {
  unsigned int pid = 0;
  unsigned long long used_bytes = 0;
  unsigned int gpu_instance = 0, compute_instance = 0;
};
struct MemoryInfo {
  unsigned long long total = 0, free = 0, used = 0;
};
using Device = void*;
constexpr int kSuccess = 0, kInsufficientSize = 7;

struct Nvml {
  int (*init)() = nullptr;
  int (*device_by_pci)(const char*, Device*) = nullptr;
  int (*processes)(Device, unsigned int*, ProcessInfo*) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  int (*driver_version)(char*, unsigned int) = nullptr;
  bool ready = false;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    load(library, "nvmlInit_v2", init);
    load(library, "nvmlDeviceGetHandleByPciBusId_v2", device_by_pci);
    load(library, "nvmlDeviceGetComputeRunningProcesses_v3", processes);
    load(library, "nvmlDeviceGetMemoryInfo", memory);
    load(library, "nvmlSystemGetDriverVersion", driver_version);
    ready = init != nullptr && init() == kSuccess;
  }

  template <typename Function>
  static void load(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }
};

// Loaded once; NVML is kept for the life of the process.
const Nvml& nvml() {
  static const Nvml instance;
  return instance;
}

}  // namespace

std::optional<Bytes> nvml_process_bytes(const std::string& pci_bus_id) {
  const Nvml& n = nvml();
  Device device = nullptr;
  if (!n.ready || n.device_by_pci == nullptr || n.processes == nullptr) return std::nullopt;
  if (n.device_by_pci(pci_bus_id.c_str(), &device) != kSuccess) return std::nullopt;
  std::vector<ProcessInfo> list(64);
  auto count = static_cast<unsigned int>(list.size());
  int status = n.processes(device, &count, list.data());
  if (status == kInsufficientSize) {
    list.resize(count + 16);
    count = static_cast<unsigned int>(list.size());
    status = n.processes(device, &count, list.data());
  }
  if (status != kSuccess) return std::nullopt;
  list.resize(count);
  const auto self = static_cast<unsigned int>(getpid());
  for (const ProcessInfo& process : list) {
    if (process.pid != self) continue;
    if (process.used_bytes > static_cast<unsigned long long>(std::numeric_limits<Bytes>::max()))
      break;  // "not available"
    return static_cast<Bytes>(process.used_bytes);
  }
  return std::nullopt;
}

std::optional<Bytes> nvml_device_bytes(const std::string& pci_bus_id) {
  const Nvml& n = nvml();
  Device device = nullptr;
  MemoryInfo info;
  if (!n.ready || n.device_by_pci == nullptr || n.memory == nullptr) return std::nullopt;
  if (n.device_by_pci(pci_bus_id.c_str(), &device) != kSuccess) return std::nullopt;
  if (n.memory(device, &info) != kSuccess) return std::nullopt;
  return static_cast<Bytes>(info.used);
}

std::optional<std::string> nvml_driver_version() {
  const Nvml& n = nvml();
  std::array<char, 96> text{};
  if (!n.ready || n.driver_version == nullptr) return std::nullopt;
  if (n.driver_version(text.data(), static_cast<unsigned int>(text.size())) != kSuccess)
    return std::nullopt;
  return std::string(text.data());
}

}  // namespace lowwater
