// What recording needs of a device besides memory.
#pragma once

#include <c10/core/Device.h>

#include <memory>

namespace lowwater {

// Creates what PyTorch's libraries create once per thread (handles, workspaces),
// so that it comes from PyTorch's allocator and not from a step's slab.
void warm_up_libraries(c10::Device device);

void synchronise(c10::Device device);

// Time between start() and stop() as the device sees it.
class StepTimer {
 public:
  virtual ~StepTimer() = default;
  virtual void start() = 0;
  // Waits for the device. Milliseconds.
  virtual double stop() = 0;
};
std::unique_ptr<StepTimer> make_timer(c10::Device device);

// CUDA's, in recorder_device_cuda.cc.
void warm_up_cuda_libraries(c10::Device device);
void synchronise_cuda(c10::Device device);
std::unique_ptr<StepTimer> make_cuda_timer(c10::Device device);

}  // namespace lowwater
