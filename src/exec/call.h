// One operator call: from Args to a boxed stack and back. Also the scalar
// operators of symbolic sizes ("sym::add"), which PyTorch does not dispatch.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/arg.h"
#include "graph/schema.h"

namespace lowwater {

// A resolved operator with its constant arguments boxed once; calls fill in the
// tensors. Schema-typed: ints become doubles where the schema says float, lists
// become c10::List of the schema's element type, DeviceArg becomes `device`.
class PreparedCall {
 public:
  // Throws Error(unsupported) if the installed PyTorch has no such operator,
  // Error(internal) if an argument does not fit the schema.
  PreparedCall(const std::string& op, const std::vector<Arg>& args, c10::Device device);

  // `value(id)` supplies the operand of a Ref: a tensor, or an int, double or bool.
  // Results are flattened: a tensor list becomes its tensors. Runs under the
  // caller's InferenceMode guard and stream.
  std::vector<c10::IValue> run(const std::function<const c10::IValue&(std::int32_t)>& value) const;

 private:
  std::optional<c10::OperatorHandle> handle_;   // empty: a sym:: operator
  std::string op_;
  std::vector<c10::IValue> constants_;          // by argument; operands are None until filled
  struct Operand {
    std::int32_t argument = 0;                  // position in the stack
    std::int32_t element = -1;                  // position in a list argument, -1: the argument itself
    std::int32_t ref = -1;
  };
  std::vector<Operand> operands_;
};

// The schemas of every operator registered in this process.
SchemaTable dump_schemas();

}  // namespace lowwater
