// What a schedule needs, without lowering it: the search scores thousands of
// schedules. Walks the node instances with small integers instead of arguments
// and tensors, and comes to the very numbers of liveness_bound(lower(...)) and
// scope_bytes (tests/property/liveness_test.cc).
#pragma once

#include <memory>
#include <vector>

#include "analysis/facts.h"
#include "plan/lower.h"
#include "plan/schedule.h"

namespace lowwater {

struct Liveness {
  Bytes arena = 0;  // most arena bytes at once, of `once` and of a run
  Bytes constants = 0, weights = 0, inputs = 0, outputs = 0;
  // By position in flat_order: arena bytes at the peak of that instance; of a
  // view (nothing runs), those live at its place.
  std::vector<Bytes> at_step;
  double ms = 0;  // predicted, of a run

  // Bytes outside the arena, and all.
  [[nodiscard]] Bytes fixed() const { return constants + weights + inputs + outputs; }
  [[nodiscard]] Bytes total() const { return arena + fixed(); }
};

class LivenessModel {
 public:
  // The arguments must outlive the model.
  LivenessModel(const Graph& graph, const WeightTable& weights, const Facts& facts,
                CostProvider& costs, const LowerOptions& options);
  ~LivenessModel();
  LivenessModel(LivenessModel&&) noexcept;

  // Of a sound schedule without loops.
  [[nodiscard]] Liveness run(const Schedule& schedule) const;

  struct Shape;  // liveness_shape.h

 private:
  std::unique_ptr<const Shape> shape_;
};

}  // namespace lowwater
