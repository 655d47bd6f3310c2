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
DeviceInfo cuda_device_info(c10::Device device);
ProcessMemory cuda_process_memory(c10::Device device);
std::vector<std::string> cuda_library_versions();

}  // namespace lowwater
