// Runs Programs: owns the arena and the weights on the device, fills them once,
// then executes the steps of a program per call.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "graph/graph.h"
#include "plan/program.h"

namespace lowwater {

// Weight storages on the device, shared by the programs of a session: windows of
// the mapped file on the CPU, copied once on CUDA (one allocation, 512-byte
// aligned offsets). Storages that the graph mutates are private copies.
class DeviceWeights {
 public:
  // `needed[storage]`: only these are loaded.
  DeviceWeights(const Archive& archive, c10::Device device, const std::vector<bool>& needed,
                const std::vector<bool>& mutated);
  ~DeviceWeights();
  // nullptr for a storage that is not loaded, or empty.
  [[nodiscard]] std::byte* address(StorageIndex storage) const;
  [[nodiscard]] bool loaded(StorageIndex storage) const;
  [[nodiscard]] Bytes device_bytes() const;  // what lies on the device
  // Mutated storages hold a model's state. Swaps their bytes with `other`, which
  // is empty at first: then it stands for the archive's own bytes.
  void exchange_state(std::vector<std::byte>& other);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class DeviceQueue;  // executor_queue.h: the streams of a session

struct ExecutorOptions {
  c10::Device device = c10::kCPU;
  bool poison = false;
  // Inputs are copied into, and outputs out of, memory that stays the same from
  // run to run. A CUDA graph needs that; it works on every device.
  bool fixed_io = false;
  bool cuda_graph = false;             // implies fixed_io
  bool borrow_outputs = false;         // with fixed_io: outputs are views, valid until the next run
  std::shared_ptr<DeviceQueue> queue;  // shared by the executors of a session; null: one of its own
  Bytes stray_limit = 0;
  std::uint64_t seed = 0;                    // of random operators, set anew for each run
  std::function<std::string(NodeId)> where;  // for messages: "model.py:42 in forward"
};

struct ExecStats {
  Bytes arena_high_water = 0;  // from the allocator's callbacks
  Bytes output_bytes = 0;      // granted for the caller
  std::int64_t strays = 0;
  Bytes stray_bytes = 0;
  double ms = 0;
};

class Executor {
 public:
  // Allocates the arena and runs the program's `once` steps. `weights` must
  // outlive the executor. Throws Error(machine) if memory is refused.
  Executor(Program program, const DeviceWeights& weights, const ExecutorOptions& options);
  ~Executor();

  // Inputs flat (undefined tensors for non-tensor inputs), on the device or in
  // host memory as the program was lowered for, with the strides it expects
  // (else they are copied). Outputs by graph output, undefined for constants.
  // On failure everything granted is freed, and an Error says which operator.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs, ExecStats* stats = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs the graph node by node with PyTorch's allocator, freeing each value at
// its last use: the oracle for verify and for tests. `peak_bytes`: what operators
// held at most, as PyTorch's allocators reported it. `queue` null: one of its own.
std::vector<at::Tensor> run_naive(const Graph& graph, const DeviceWeights& weights,
                                  const WeightTable& table, c10::Device device,
                                  const std::vector<at::Tensor>& inputs,
                                  Bytes* peak_bytes = nullptr, double* ms = nullptr,
                                  std::shared_ptr<DeviceQueue> queue = nullptr);

}  // namespace lowwater
