// The measuring cost provider: runs each distinct step once or twice inside a
// slab no larger than the budget, on synthetic inputs, and writes down what it
// allocates. Records are kept in a store (SQLite) between processes; on CUDA
// every process still warms up each distinct step once, inside the slab.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "analysis/step.h"
#include "base/bytes.h"
#include "exec/environment.h"
#include "exec/record_store.h"

namespace lowwater {

struct RecorderOptions {
  c10::Device device = c10::kCPU;
  Bytes slab_limit = 0;       // bytes that recording may use on the device
  Bytes workspace_cap = 0;    // 0: none; part of the key
  double time_limit_s = 60;   // beyond it steps are timed once; 0: records and estimates only
  bool warm_up_known = true;  // CUDA: run steps once even where a record is known
  // CUDA: what the whole process may hold, 0: no limit. Libraries load code when a
  // step runs for the first time; the slab gives way to it.
  Bytes process_limit = 0;
};

class Recorder final : public CostProvider {
 public:
  // `store` may be nullptr (no cache) and must outlive the recorder. One thread
  // at a time: libraries keep their plans per thread, so use the thread that
  // will run the program.
  Recorder(const RecorderOptions& options, RecordStore* store);
  ~Recorder() override;

  // A step that does not fit the slab is `infeasible`. Throws Error(unsupported)
  // naming the operator if it refuses its inputs, Error(machine) if the device
  // refuses the slab.
  const StepRecord& record(const StepSpec& spec) override;
  [[nodiscard]] Bytes alignment() const override;

  // Distinct steps, by how their record came about.
  struct Counts {
    int measured = 0, known = 0, infeasible = 0, estimated = 0;
  };
  [[nodiscard]] Counts counts() const;
  // Most bytes that recording held on the device at once, by the callbacks.
  [[nodiscard]] Bytes peak_bytes() const;
  // What the slab takes of the device until the recorder is gone.
  [[nodiscard]] Bytes slab_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lowwater
