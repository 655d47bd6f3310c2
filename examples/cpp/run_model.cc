// Runs a model once inside a budget, on inputs of ones, and prints what it took.
//
//   run_model unet.pt2 600MiB-as-bytes
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lowwater/session.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.pt2 [BUDGET_BYTES]\n", argv[0]);
    return 2;
  }
  try {
    lowwater::Options options;
    if (argc > 2) options.budget = std::atoll(argv[2]);
    lowwater::Session session = lowwater::Session::open(argv[1], options);
    const lowwater::Plan& plan = session.plan();
    if (!plan.fits) {  // "does not fit" is a value, not an error
      std::printf("does not fit: the smallest budget is %lld bytes\n",
                  static_cast<long long>(plan.smallest_budget_bytes));
      return 3;
    }
    std::vector<std::vector<float>> buffers;
    std::vector<lowwater::TensorView> inputs;
    for (const lowwater::IoDescription& input : session.inputs()) {
      std::size_t count = 1;
      for (const std::int64_t size : input.sizes) count *= static_cast<std::size_t>(size);
      buffers.emplace_back(count, 1.0F);
      inputs.push_back({buffers.back().data(), "f32", input.sizes, {}, false});
    }
    const lowwater::RunResult result = session.run(inputs);
    std::printf("%zu outputs, %.1f ms, peak %lld bytes (planned %lld), %lld strays\n",
                result.outputs.size(), result.stats.ms,
                static_cast<long long>(result.stats.measured_peak_bytes),
                static_cast<long long>(result.stats.planned_peak_bytes),
                static_cast<long long>(result.stats.strays));
    return 0;
  } catch (const lowwater::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
