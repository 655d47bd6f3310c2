#include "exec/executor_queue.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {

void DeviceQueue::reserve(int, int) {}
void DeviceQueue::begin() { started_ = std::chrono::steady_clock::now(); }
void DeviceQueue::use(int) {}
void DeviceQueue::record(int, int) {}
void DeviceQueue::wait(int, int) {}

double DeviceQueue::finish() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started_)
      .count();
}

void DeviceQueue::abandon() noexcept {}

std::shared_ptr<std::byte> DeviceQueue::host_memory(Bytes size) {
  constexpr std::size_t kAlignment = 64;
  const auto bytes =
      static_cast<std::size_t>(align_up(std::max<Bytes>(size, 1), Bytes{kAlignment}));
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) {
    throw Error(ErrorKind::machine, "the system refused " + format_bytes(size) + " of memory");
  }
  return {static_cast<std::byte*>(memory), [](std::byte* address) { std::free(address); }};
}

bool DeviceQueue::begin_capture() { return false; }
std::unique_ptr<DeviceQueue::CapturedGraph> DeviceQueue::end_capture() { return nullptr; }
void DeviceQueue::cancel_capture() noexcept {}

std::shared_ptr<DeviceQueue> make_cuda_queue(c10::Device device);

std::shared_ptr<DeviceQueue> make_queue(c10::Device device) {
#ifdef LOWWATER_CUDA
  if (device.is_cuda()) return make_cuda_queue(device);
#endif
  if (!device.is_cpu()) {
    throw Error(ErrorKind::machine, "this build of lowwater runs on the CPU only", device.str());
  }
  install_cpu_allocator();
  return std::make_shared<DeviceQueue>();
}

}  // namespace lowwater
