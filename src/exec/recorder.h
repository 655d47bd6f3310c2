// The measuring cost provider: runs each distinct step once or twice inside a
// slab no larger than the budget, on synthetic inputs, and writes down what it
// allocates. Records are kept in a store (SQLite) between processes; every
// process still warms up each distinct step once, inside the slab.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "analysis/step.h"
#include "base/bytes.h"
#include "exec/record_store.h"

namespace lowwater {

struct RecorderOptions {
  c10::Device device = c10::kCPU;
  Bytes slab_limit = 0;               // bytes that recording may use on the device
  Bytes workspace_cap = 0;            // 0: none; part of the key
  double time_limit_s = 60;           // 0: records only
  bool warm_up_known = true;          // run steps once even where a record is known
};

class Recorder final : public CostProvider {
 public:
  // `store` may be nullptr (no cache) and must outlive the recorder.
  Recorder(const RecorderOptions& options, RecordStore* store);
  ~Recorder() override;

  const StepRecord& record(const StepSpec& spec) override;
  [[nodiscard]] Bytes alignment() const override;

  // Distinct steps run, and found in the store.
  struct Counts {
    int measured = 0, known = 0, infeasible = 0, estimated = 0;
  };
  [[nodiscard]] Counts counts() const;
  // Most bytes that recording held on the device at once, by the callbacks.
  [[nodiscard]] Bytes peak_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Everything besides the spec that a record depends on: library versions, device
// model, global flags, threads. One line, part of every key.
std::string environment_key(c10::Device device);

}  // namespace lowwater
