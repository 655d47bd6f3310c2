// Where every buffer of a program is, and the tensors that look at it.
//
//   arena, constant   slabs of the executor, planned offsets    bound once
//   weight            DeviceWeights                             bound once
//   input, output,    the caller's memory, anew for each run;
//   host              with fixed_io memory of the executor      bound once
//
// Each slot has one tensor (or number) in `values`. Tensors at fixed addresses
// are made once and own nothing: who owns a block is the executor's business.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <memory>
#include <optional>
#include <vector>

#include "exec/executor.h"
#include "exec/executor_queue.h"
#include "exec/slab.h"

namespace lowwater {

class Places {
 public:
  // `program` and `weights` must outlive the object.
  Places(const Program& program, const DeviceWeights& weights, const ExecutorOptions& options,
         DeviceQueue& queue);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // By SlotId: what launches read.
  std::vector<c10::IValue> values;

  // The planned address; nullptr where the buffer has no memory of its own yet.
  [[nodiscard]] std::byte* address(BufferId buffer) const;
  [[nodiscard]] bool bound(BufferId buffer) const;
  // Lets the buffer's slots look at `storage` from byte `base` on.
  void bind(BufferId buffer, const c10::Storage& storage, Bytes base);
  // Memory from PyTorch's allocator for an output or host buffer that no launch allocates.
  void bind_new(BufferId buffer);
  // Forgets what belongs to one run: the caller's memory, results, numbers.
  void forget_run();
  // Forgets results in this buffer whose sizes were known only at run time.
  void forget_results(BufferId buffer);

  // Places an input; copies it where its layout or place differs.
  void set_input(std::int32_t input, const at::Tensor& tensor);
  // Copies what `from` holds into the place of `to`.
  void copy(const Copy& step);
  // The tensor of an output slot as the caller may keep it.
  at::Tensor take_output(SlotId slot);

  // The slots whose address depends on a loop move to this iteration.
  void enter_iteration(std::int32_t loop, std::int64_t iteration);

  // nullptr if the program needs none.
  Slab* arena() { return arena_ ? &*arena_ : nullptr; }
  [[nodiscard]] Bytes fixed_output_bytes() const { return fixed_output_bytes_; }

 private:
  void make_fixed_io();
  [[nodiscard]] bool moves(const Slot& slot) const { return !slot.loop_strides.empty(); }
  void look(SlotId slot);
  [[nodiscard]] bool of_one_run(Space space) const;
  [[nodiscard]] c10::Device device_of(Space space) const;

  const Program& program_;
  const DeviceWeights& weights_;
  c10::Device device_;
  bool fixed_io_, borrow_outputs_;
  DeviceQueue& queue_;
  std::optional<Slab> arena_, constant_, io_;
  std::shared_ptr<std::byte> host_;
  Bytes fixed_output_bytes_ = 0;
  std::vector<std::byte*> addresses_;          // by BufferId
  std::vector<c10::Storage> storages_;         // by BufferId; null: not bound
  std::vector<Bytes> bases_;                   // by BufferId
  std::vector<std::vector<SlotId>> slots_of_;  // by BufferId
  std::vector<SlotId> scalars_;
  std::vector<std::int64_t> iterations_;         // by loop
  std::vector<std::vector<SlotId>> loop_slots_;  // by loop
  std::vector<c10::Storage> kept_;               // by BufferId: copies made for the caller
};

}  // namespace lowwater
