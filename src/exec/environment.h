// Everything besides the spec that a record depends on.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace lowwater {

// Library versions, device model, global flags, threads: one line, part of
// every key of the record store.
std::string environment_key(c10::Device device);

// The CUDA part: model, driver, cuDNN, flags that choose kernels.
std::string cuda_environment(c10::Device device);

}  // namespace lowwater
