// What a caller may choose. Every default is the command line's default.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lowwater {

// What a budget counts.
enum class Scope : std::uint8_t {
  process,  // everything this process holds on the device, context and libraries included
  session,  // everything that this session caused
  tensors,  // weights on the device, inputs, outputs, temporaries, staging
};

enum class Exactness : std::uint8_t { same_kernels, same_mathematics };

struct Options {
  std::string device = "cpu";  // "cpu", "cuda:0"
  // Bytes; or percent of the device's memory; neither: 90 % of what is free.
  std::optional<std::int64_t> budget;
  std::optional<double> budget_percent;
  std::optional<Scope> scope;  // default: tensors on the CPU, process on CUDA
  Exactness exact = Exactness::same_mathematics;
  double max_slowdown = 0;                    // 0: no limit
  std::optional<std::int64_t> workspace_cap;  // bytes one operator may allocate beside its outputs
  bool cuda_graph = false;
  int threads = 0;                 // of CPU operators; 0: PyTorch's default
  double measure_time_s = 60;      // 0: records only
  std::string cache_dir;           // records; empty: XDG cache folder; "-": none
  std::uint64_t seed = 0;          // of random operators
  bool poison = false;             // fill free arena bytes with NaN, red zones
  bool host_io = false;            // inputs and outputs are in host memory (always true on the CPU)
  bool borrow_outputs = false;     // outputs are views that are valid until the next run
  std::set<std::string> disabled;  // names of rewrites and moves to leave out
  std::string model;               // which model of the archive; empty if it holds one
  // Concrete sizes of inputs whose sizes are symbolic, by input name.
  std::map<std::string, std::vector<std::int64_t>> shapes;
  // Called while steps are measured; returning false stops with Error(interrupted).
  std::function<bool(const char* phase, int done, int total)> progress;
};

}  // namespace lowwater
