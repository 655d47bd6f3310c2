// Moving weight bytes onto the device. Private to weights*.cc.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <span>

namespace lowwater {

// Fills and reads device memory from host memory, in pieces through one pinned
// buffer on CUDA (a mapped file cannot be the source of a fast copy).
class HostCopier {
 public:
  explicit HostCopier(c10::Device device);
  HostCopier(const HostCopier&) = delete;
  HostCopier& operator=(const HostCopier&) = delete;
  ~HostCopier();

  void upload(std::byte* to, std::span<const std::byte> from);
  void download(std::span<std::byte> to, const std::byte* from);
  // Returns once everything has arrived.
  void finish();

 private:
  struct Pinned;
  Pinned* pinned_ = nullptr;  // nullptr on the CPU
};

}  // namespace lowwater
