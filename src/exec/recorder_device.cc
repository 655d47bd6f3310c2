#include "exec/recorder_device.h"

#include <chrono>

namespace lowwater {
namespace {

class HostTimer final : public StepTimer {
 public:
  void start() override { start_ = Clock::now(); }
  double stop() override {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

}  // namespace

void warm_up_libraries(c10::Device device) {
  if (device.is_cuda()) warm_up_cuda_libraries(device);
}

void synchronise(c10::Device device) {
  if (device.is_cuda()) synchronise_cuda(device);
}

std::unique_ptr<StepTimer> make_timer(c10::Device device) {
  if (device.is_cuda()) return make_cuda_timer(device);
  return std::make_unique<HostTimer>();
}

}  // namespace lowwater
