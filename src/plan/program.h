// What runs: steps over buffers at planned addresses. A Program needs neither
// the graph nor the schedule it came from; exec/ executes it, verify proves it,
// JSON stores it.
//
//   copy    b0 <- input 0          (stream h2d)
//   launch  aten::conv2d  b0, w3 -> b1     script: +b1 +b2(workspace) -b2
//   release b0
//
// Buffers are storages with an address; slots are values: views of a buffer,
// or numbers known only at run time. Times are positions in the sequence of
// events (each script event, copy and release is one tick), so that a workspace
// lives only inside its step; `once` and `steps` count from 0 each. A loop is
// one span of ticks for what is outside it.
// A buffer begins at its script's allocation, or at the copy that writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/step.h"
#include "base/bytes.h"
#include "graph/arg.h"
#include "graph/graph.h"

namespace lowwater {

using BufferId = std::int32_t;
using SlotId = std::int32_t;
using EventId = std::int32_t;
using Tick = std::int64_t;

// The address spaces of a run. Only `arena` and `constant` have planned offsets.
enum class Space : std::uint8_t {
  arena,     // the planned slab on the device
  constant,  // results of `once` steps: planned once, lives as long as the session
  weight,    // a weight storage on the device (CPU: the mapped file)
  input,     // the caller's tensor, on the device
  output,    // given to the caller, on the device
  host,      // the caller's or lowwater's host memory, other end of a copy
};

enum class BufferKind : std::uint8_t { value, temporary, weight, input, output, staging };

struct Buffer {
  Space space = Space::arena;
  BufferKind kind = BufferKind::value;
  Bytes size = 0;
  Bytes offset = 0;         // arena and constant: the planned address
  std::int32_t index = 0;   // weight: StorageIndex; input, output: flat position
  Tick begin = 0, end = 0;  // live in [begin, end); [0, 0) for what always lives
  // This buffer takes the place of another whose last reader is its writer
  // (x = relu(x)): same address, the sharing rule of the writer's operator allows it.
  // Of a chain of sharers only the last one is released; each ends where the next begins.
  BufferId shares = kNone;
  ValueId value = kNone;  // the first value that lives in it, for messages
  NodeId node = kNone;    // who allocates it
};

// A number per enclosing loop level: address += iteration * stride (bytes).
struct LoopStride {
  std::int32_t loop = 0;  // index into Program::loops
  Bytes stride = 0;
  friend bool operator==(const LoopStride&, const LoopStride&) = default;
};

struct Slot {
  TypeKind kind = TypeKind::tensor;
  BufferId buffer = kNone;  // tensors
  TensorMeta meta;          // storage_offset is relative to the buffer
  std::vector<LoopStride> loop_strides;
  // The kernel decides the sizes at run time (meta has upper bounds), or the view
  // is more than sizes and strides (a conjugate bit): readers take the tensor
  // that the writing step returned.
  bool dynamic = false;
  ValueId value = kNone;
};

// One allocation or free of a launch: the k-th one gets the buffer's address.
struct ScriptEvent {
  bool is_alloc = true;
  BufferId buffer = kNone;
  Bytes size = 0;  // as requested
};

struct Launch {
  NodeId node = kNone;
  std::string op;
  std::vector<Arg> args;            // Ref ids are SlotIds
  std::vector<SlotId> outputs;      // kNone: dropped
  std::vector<ScriptEvent> script;  // allocations and frees, in order
  std::string variant = "aten";
  SlotId guard = kNone;  // runs only if this boolean equals guard_when
  bool guard_when = true;
  std::int32_t stream = 0;
  double ms = 0;  // predicted
};

// Copies between a host or device buffer and a slot's bytes, whole or a part.
struct Copy {
  SlotId from = kNone, to = kNone;  // same sizes and dtype; strides may differ
  std::int32_t stream = 0;
};

// Order between streams.
struct RecordEvent {
  EventId event = 0;
  std::int32_t stream = 0;
};
struct WaitEvent {
  EventId event = 0;
  std::int32_t stream = 0;
};

// The buffer's bytes may be reused after this point of its stream.
struct Release {
  BufferId buffer = kNone;
};

struct LoopStep;
using Step = std::variant<Launch, Copy, RecordEvent, WaitEvent, Release, std::vector<LoopStep>>;

// A body run `trips` times. Lowered once per tile class; the classes' bodies
// have the same steps with other sizes.
struct LoopStep {
  std::int32_t loop = 0;
  std::int64_t trips = 1;
  // bodies[class_of(i)]: first, inner, last. Equal classes are stored once.
  std::vector<std::vector<Step>> bodies;
  std::vector<std::int32_t> class_of;  // by iteration
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Slot> slots;
  std::vector<Step> once;           // run when a session opens, in the same arena
  std::vector<Step> steps;          // one run
  std::vector<std::int64_t> loops;  // trip counts
  std::vector<SlotId> inputs;       // by flat user input; kNone: constant or unused
  std::vector<SlotId> outputs;  // by graph output; kNone: a constant, or a mutation (a copy step)
  std::vector<std::string> stream_names = {"compute", "h2d", "d2h"};
  std::int32_t events = 0;
  Bytes alignment = 64;
  Bytes arena_bytes = 0;       // the slab: highest end of an arena buffer
  Bytes once_arena_bytes = 0;  // the same for `once` alone (<= arena_bytes)
  Bytes constant_bytes = 0;    // size of the constant space
};

// Calls `visit(step)` for every step, loop bodies included (each class once).
void for_each_step(const std::vector<Step>& steps, const std::function<void(const Step&)>& visit);

}  // namespace lowwater
