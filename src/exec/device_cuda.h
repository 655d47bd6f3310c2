// The CUDA half of device.cc. Private to device*.cc.
#pragma once

#include <string>
#include <vector>

#include "exec/device.h"

namespace lowwater {

// How many devices there are, or why there is none: "no NVIDIA driver found".
struct CudaPresence {
  int devices = 0;
  std::string why_none;
};
CudaPresence cuda_presence();
// Call before the process uses the device: remembers what others hold there, so
// that the process's own bytes can be told where NVML does not list them.
void note_cuda_baseline(c10::Device device);
DeviceInfo cuda_device_info(c10::Device device);
ProcessMemory cuda_process_memory(c10::Device device);
std::vector<std::string> cuda_library_versions();

}  // namespace lowwater
