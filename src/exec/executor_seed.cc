#include "exec/executor_seed.h"

#include <ATen/Context.h>

namespace lowwater {

SeedScope::SeedScope(c10::Device device, std::uint64_t seed) {
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};
  if (!device.is_cpu()) devices.push_back(device);
  for (const c10::Device one : devices) {
    at::Generator generator = at::globalContext().defaultGenerator(one);
    const std::lock_guard lock(generator.mutex());
    saved_.push_back({generator, generator.get_state()});
    generator.set_current_seed(seed);
  }
}

SeedScope::~SeedScope() {
  for (Saved& saved : saved_) {
    const std::lock_guard lock(saved.generator.mutex());
    saved.generator.set_state(saved.state);
  }
}

}  // namespace lowwater
