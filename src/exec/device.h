// What this machine offers. Loads NVML with dlopen; works without a GPU.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace lowwater {

// "cpu", "cuda:0". Throws Error(bad_input) for another spelling, Error(machine)
// where the device does not exist (says what does).
c10::Device parse_device(const std::string& name);

struct DeviceInfo {
  std::string name;            // "NVIDIA H200", or the CPU's model
  Bytes total = 0, free = 0;   // device memory; host memory (cgroup limits respected) on the CPU
  int compute_capability = 0;  // 90
};
DeviceInfo device_info(c10::Device device);
std::vector<c10::Device> cuda_devices();

// Bytes that this process holds on the device: NVML's per-process figure, else
// total minus free minus what was in use before the process came. On the CPU:
// resident bytes.
struct ProcessMemory {
  Bytes bytes = 0;
  bool shared_device = false;  // the figure may include other processes
};
ProcessMemory process_memory(c10::Device device);

// "PyTorch 2.11.0, CUDA 13.0, cuDNN 9.19 ...", one line per library.
std::vector<std::string> library_versions();

// Is this exception an out-of-memory in disguise (CUBLAS_STATUS_ALLOC_FAILED,
// "unable to find an engine" ...)?
bool is_out_of_memory(const std::string& message);

}  // namespace lowwater
