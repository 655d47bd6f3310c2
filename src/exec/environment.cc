#include "exec/environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "exec/device.h"

namespace lowwater {
namespace {

// The commit that the loaded libtorch was built from; PyTorch offers it only
// inside a long text.
std::string git_version() {
  static constexpr std::string_view kKey = "COMMIT_SHA=";
  const std::string config = at::show_config();
  const std::size_t at = config.find(kKey);
  if (at == std::string::npos) return "unknown";
  const std::size_t begin = at + kKey.size();
  return config.substr(begin, config.find_first_of(", \n", begin) - begin);
}

// Global flags by which operators choose their kernels, as digits.
std::string flags() {
  const at::Context& context = at::globalContext();
  using at::Float32Backend;
  using at::Float32Op;
  const auto precision = [&](Float32Backend backend, Float32Op op) {
    return static_cast<int>(context.float32Precision(backend, op));
  };
  return fmt::format(
      "deterministic {:d}{:d}{:d} onednn {:d} nnpack {:d} cudnn {:d} benchmark {:d} sdp "
      "{:d}{:d}{:d}{:d}{:d} "
      "f32 {}{}{}{}{}",
      context.deterministicAlgorithms(), context.deterministicCuDNN(),
      context.deterministicMkldnn(), context.userEnabledMkldnn(), context.userEnabledNNPACK(),
      context.userEnabledCuDNN(), context.benchmarkCuDNN(), context.userEnabledFlashSDP(),
      context.userEnabledMemEfficientSDP(), context.userEnabledMathSDP(),
      context.userEnabledCuDNNSDP(), context.userEnabledFA3SDP(),
      precision(Float32Backend::CUDA, Float32Op::CONV),
      precision(Float32Backend::CUDA, Float32Op::RNN),
      precision(Float32Backend::CUDA, Float32Op::MATMUL),
      precision(Float32Backend::MKLDNN, Float32Op::CONV),
      precision(Float32Backend::MKLDNN, Float32Op::MATMUL));
}

std::string cpu_environment() {
  return fmt::format("cpu {} {} threads {} | {} | {}", device_info(c10::kCPU).name,
                     at::get_cpu_capability(), at::get_num_threads(), at::get_mkl_version(),
                     at::get_mkldnn_version());
}

}  // namespace

// Rises when a change in how lowwater makes a call may change what it allocates:
// older records are then not found.
constexpr int kRecipe = 1;

std::string environment_key(c10::Device device) {
  std::string key =
      fmt::format("recipe {} | torch {} {} | {} | {}", kRecipe, TORCH_VERSION, git_version(),
                  flags(), device.is_cpu() ? cpu_environment() : cuda_environment(device));
  for (char& c : key) {
    if (c == '\n') c = ' ';
  }
  return key;
}

}  // namespace lowwater
