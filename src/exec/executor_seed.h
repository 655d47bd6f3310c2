// Random operators draw from PyTorch's default generators. A run sets the seed
// and leaves the generators as it found them.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

namespace lowwater {

class SeedScope {
 public:
  SeedScope(c10::Device device, std::uint64_t seed);
  SeedScope(const SeedScope&) = delete;
  SeedScope& operator=(const SeedScope&) = delete;
  ~SeedScope();

 private:
  struct Saved {
    at::Generator generator;
    at::Tensor state;
  };
  std::vector<Saved> saved_;
};

}  // namespace lowwater
