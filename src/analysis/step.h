// What is known of one step (one operator call on tensors of given sizes and
// strides): which bytes it allocates, what its outputs alias, how long it takes.
//
// A StepSpec is the question, a StepRecord the answer, a CostProvider whoever
// answers: exec/'s recorder runs the operator, the estimator computes from
// types and schemas, tests use a fake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "graph/arg.h"
#include "graph/graph.h"
#include "graph/schema.h"

namespace lowwater {

// A tensor as a kernel sees it.
struct TensorMeta {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in elements; real ones, not export's
  std::int64_t storage_offset = 0;    // in elements
  Bytes storage_bytes = 0;            // of the whole storage
  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;

  // Bytes from the first to one past the last element that the view touches.
  [[nodiscard]] Bytes extent_bytes() const;
};

// Row-major strides of `sizes`.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes);

// Same memory layout; strides of dimensions of size 1 are ignored.
bool same_layout(const TensorMeta& a, const TensorMeta& b);

// The call: Ref ids in `args` index `tensors` (scalar operands are literal).
struct StepSpec {
  std::string op;
  std::vector<Arg> args;
  std::vector<TensorMeta> tensors;
  // Operands with equal numbers live in one storage (x + x, views of one base).
  std::vector<std::int32_t> storage_group;
  std::string variant = "aten";
  bool worst_case =
      false;  // a data-dependent step: record with inputs that give the largest result
  // As exported: what an estimate goes by. Not part of the key.
  std::vector<Type> output_types;

  // One line that identifies the step; equal specs have equal keys.
  [[nodiscard]] std::string key() const;
};

// The allocations of a step, in order. `id` counts allocations from 0.
struct AllocEvent {
  bool is_alloc = true;
  std::int32_t id = 0;
  Bytes size = 0;  // as requested, unrounded; 0 for frees
  friend bool operator==(const AllocEvent&, const AllocEvent&) = default;
};

// Where output i lives.
enum class OutputHome : std::uint8_t {
  fresh,   // allocation `source` of this step
  alias,   // the storage of spec.tensors[source]
  scalar,  // a number: no bytes
  absent,  // undefined tensor
};

struct StepOutput {
  OutputHome home = OutputHome::fresh;
  std::int32_t source = 0;
  TensorMeta meta;
  friend bool operator==(const StepOutput&, const StepOutput&) = default;
};

// How a figure came about; plans say it. Ordered: the weakest one wins.
enum class Basis : std::uint8_t { measured, profile, estimated };

struct StepRecord {
  std::vector<AllocEvent> events;
  std::vector<StepOutput> outputs;
  double ms = 0;
  Basis basis = Basis::measured;
  // The step could not be run inside the budget. `upper_bound` then is the
  // bytes that it would need by its types; events are estimated.
  bool infeasible = false;
  Bytes upper_bound = 0;

  [[nodiscard]] Bytes peak_bytes() const;       // most bytes live at once, outputs included
  [[nodiscard]] Bytes temporary_bytes() const;  // peak minus what outputs keep
};

class CostProvider {
 public:
  virtual ~CostProvider() = default;
  // The reference stays valid for the provider's life.
  virtual const StepRecord& record(const StepSpec& spec) = 0;
  // Bytes to which every address is aligned: 64 on the CPU, 512 on CUDA.
  [[nodiscard]] virtual Bytes alignment() const = 0;
};

}  // namespace lowwater
