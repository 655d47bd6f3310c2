// A model, planned inside a budget and ready to run.
//
//   auto session = lowwater::Session::open("unet.pt2", {.budget = 600 << 20});
//   if (!session.plan().fits) ...
//   lowwater::RunResult result = session.run({lowwater::TensorView{...}});
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lowwater/error.h"
#include "lowwater/options.h"
#include "lowwater/plan.h"

namespace lowwater {

// A borrowed tensor. `data` must stay valid and unchanged during the call.
struct TensorView {
  const void* data = nullptr;
  std::string dtype = "f32";  // f16 bf16 f32 f64 i8 i16 i32 i64 u8 bool c64 c128
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in elements; empty: row-major
  bool on_device = false;             // else host memory
};

// An owned tensor; the bytes live as long as `owner`.
struct Tensor {
  std::shared_ptr<void> owner;
  TensorView view;
};

struct RunStats {
  std::int64_t planned_peak_bytes = 0;   // tensors scope
  std::int64_t measured_peak_bytes = 0;  // counted from the allocator's callbacks
  std::int64_t planned_arena_bytes = 0;
  std::int64_t measured_arena_bytes = 0;  // highest address granted
  std::int64_t process_peak_bytes = 0;    // NVML, or memory information; 0 on the CPU
  std::int64_t strays = 0;                // allocations that no script foresaw
  double ms = 0;                          // on the device
};

struct RunResult {
  std::vector<Tensor>
      outputs;  // flat, in the order of output_names(); non-tensor outputs are empty
  RunStats stats;
};

// What an archive's model takes and gives.
struct IoDescription {
  std::string name;  // dotted path: "x", "batch.image", "0", "logits"
  bool is_tensor = true;
  std::string dtype;
  std::vector<std::int64_t> sizes;   // -1: symbolic
  std::vector<std::string> symbols;  // parallel to sizes; "" where fixed
};

// Move-only. One call at a time: concurrent calls queue. All work happens on
// threads and streams of lowwater's own. Nothing is printed.
class Session {
 public:
  // Reads, rewrites, measures and plans. A budget that is too small is not an
  // error: plan().fits is false and run() throws Error(does_not_fit).
  static Session open(const std::string& path, const Options& options = {});
  // Executes a stored plan instead of searching for one. Throws Error(bad_input)
  // if it was made for another model, device or version.
  static Session open_with_plan(const std::string& path, const std::string& plan_json,
                                const Options& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] std::string plan_json() const;  // whole plan, executable elsewhere
  [[nodiscard]] const std::vector<IoDescription>& inputs() const;
  [[nodiscard]] const std::vector<IoDescription>& outputs() const;

  // Inputs flat, in the order of inputs(). Other sizes than planned re-plan
  // (plans are cached by shape) if the archive allows them.
  // Throws Error; afterwards nothing stays allocated and the session works.
  RunResult run(const std::vector<TensorView>& inputs);

  // The same inputs without planning: operators one after the other, each value
  // freed at its last use, PyTorch's own allocator. The oracle of `verify`.
  RunResult run_unplanned(const std::vector<TensorView>& inputs);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What is in an archive, without planning anything.
struct ArchiveInfo {
  std::string path, model;     // file and model name
  std::string torch_version;   // that exported it; may be empty
  std::string schema_version;  // "8.17"
  std::vector<IoDescription> inputs, outputs;
  struct Operator {
    std::string name;  // "aten::conv2d"
    int nodes = 0;
    bool known = true;  // the installed PyTorch has it
  };
  std::vector<Operator> operators;  // most frequent first
  int nodes = 0;
  int parameters = 0, buffers = 0, constants = 0;
  std::int64_t weight_elements = 0;  // tied weights counted once
  std::int64_t weight_bytes = 0;     // bytes on disk, tied weights counted once
  std::int64_t file_bytes = 0;
  std::vector<std::string> corrupt;  // names of records whose CRC is wrong (only if checked)
};

// `check` reads every byte of the file against its CRC. Throws Error.
ArchiveInfo inspect(const std::string& path, const std::string& model = {}, bool check = false);

// "0.1.0".
std::string version();

// What this machine offers and what is wrong with it: one finding a line.
struct Finding {
  std::string topic, text;  // "device cuda:0", "NVIDIA H200, 139 GiB, 138 GiB free"
  bool problem = false;
};
std::vector<Finding> describe_machine();

// Removes the stored records. `folder` empty: the default cache folder.
bool clear_cache(const std::string& folder = {});

}  // namespace lowwater
