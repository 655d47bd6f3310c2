// One operator call: from Args to a boxed stack and back. Also the scalar
// operators of symbolic sizes ("sym::add"), which PyTorch does not dispatch.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/call_box.h"
#include "exec/call_sym.h"
#include "exec/schemas.h"
#include "graph/arg.h"

namespace lowwater {

// A resolved operator with its constant arguments boxed once; calls fill in the
// operands. Schema-typed: ints become doubles where the schema says float, lists
// become c10::List of the schema's element type, numbers become wrapped tensors
// where it says Tensor, DeviceArg becomes `device`, and so does the omitted device
// of a factory (arange, zeros).
//
// Besides PyTorch's operators: "sym::..." (call_sym.h) and
// "lowwater::select"(pred, a, b), a copy of a or of b. aten::view behaves like
// aten::reshape: it copies where the operand's real strides leave no choice.
// aten::slice_scatter and its like copy their operand, not the whole storage
// that it is a view of.
class PreparedCall {
 public:
  // Throws Error(unsupported) if the installed PyTorch has no such operator,
  // Error(internal) if an argument does not fit the schema.
  PreparedCall(const std::string& op, const std::vector<Arg>& args, c10::Device device);

  // values[id] is the operand of a Ref: a tensor, an int, double or bool (None:
  // an absent tensor). Results are flattened: a tensor list becomes its tensors.
  // Runs under the caller's InferenceMode guard and stream. Throws what the
  // operator throws. Not for two threads at once.
  std::vector<c10::IValue> run(std::span<const c10::IValue> values);

 private:
  // A position of the stack that holds operands.
  struct Operand {
    std::size_t argument = 0;
    Wanted wanted;
    std::int32_t ref = -1;               // a single operand
    std::vector<std::int32_t> refs;      // a list: -1 is absent or a known integer
    std::vector<std::int64_t> integers;  // the known ones of a list of integers
  };
  [[nodiscard]] Wanted wanted_at(std::size_t position) const;
  void add_argument(const Arg& arg, c10::Device device);
  void add_defaults(c10::Device device);
  void fill(std::span<const c10::IValue> values);

  enum class Kind : std::uint8_t { dispatched, symbolic, select, scatter };
  Kind kind_ = Kind::dispatched;
  void run_scatter();
  std::optional<c10::OperatorHandle> handle_;  // dispatched, scatter
  std::optional<c10::OperatorHandle> view_;    // scatter: what it writes through
  SymFunction sym_ = nullptr;                  // symbolic
  std::vector<c10::IValue> constants_;         // by argument; None where an operand goes
  std::vector<Operand> operands_;
  std::vector<c10::IValue> stack_;  // reused between calls
};

}  // namespace lowwater
