#include "exec/call.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "exec/call_box.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using c10::IValue;
using Values = std::span<const IValue>;

const IValue& value_of(Values values, std::int32_t ref) {
  return values[static_cast<std::size_t>(ref)];
}

// aten::view fails where the real strides of its operand forbid it (export's
// strides are only a guess); reshape is the same view, or a copy.
std::string dispatched_name(const std::string& op) {
  return op == "aten::view" || op == "aten::_unsafe_view" ? "aten::reshape" : op;
}

c10::OperatorHandle find_operator(const std::string& op) {
  const std::string name = dispatched_name(op);
  const std::size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const auto handle = c10::Dispatcher::singleton().findSchema({name.substr(0, dot), overload});
  if (!handle) {
    throw Error(ErrorKind::unsupported, "the installed PyTorch has no such operator", op,
                "the library that registers it may have to be loaded first");
  }
  return *handle;
}

// "scatter" operators and the view that each writes through: (self, src, rest)
// is a copy of self whose view(copy, rest) is src. PyTorch's kernels copy the
// storage behind self, so that what they allocate depends on more than self.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScatters = {{
    {"aten::slice_scatter", "aten::slice.Tensor"},
    {"aten::select_scatter", "aten::select.int"},
    {"aten::diagonal_scatter", "aten::diagonal"},
}};

// A list argument that holds operands, boxed anew for every call.
IValue tensor_list(const std::vector<std::int32_t>& refs, Values values) {
  c10::List<at::Tensor> list;
  list.reserve(refs.size());
  for (const std::int32_t ref : refs) {
    const IValue tensor =
        ref < 0 ? IValue() : box_operand(value_of(values, ref), {SchemaType::tensor});
    list.push_back(tensor.isNone() ? at::Tensor() : tensor.toTensor());
  }
  return list;
}

IValue optional_tensor_list(const std::vector<std::int32_t>& refs, Values values) {
  c10::List<std::optional<at::Tensor>> list;
  list.reserve(refs.size());
  for (const std::int32_t ref : refs) {
    const IValue tensor =
        ref < 0 ? IValue() : box_operand(value_of(values, ref), {SchemaType::tensor});
    list.push_back(tensor.isNone() ? std::nullopt : std::optional(tensor.toTensor()));
  }
  return list;
}

IValue integer_list(const std::vector<std::int32_t>& refs, const std::vector<std::int64_t>& known,
                    Values values) {
  c10::List<std::int64_t> list;
  list.reserve(refs.size());
  for (std::size_t i = 0; i < refs.size(); ++i) {
    list.push_back(refs[i] < 0
                       ? known[i]
                       : box_operand(value_of(values, refs[i]), {SchemaType::integer}).toInt());
  }
  return list;
}

bool holds_tensors(SchemaType type) {
  return type == SchemaType::tensor || type == SchemaType::tensor_list ||
         type == SchemaType::optional_tensor_list;
}

void flatten_into(std::vector<IValue>& results, IValue& value) {
  if (value.isTensorList()) {
    for (at::Tensor& tensor : value.toTensorVector()) results.emplace_back(std::move(tensor));
  } else {
    results.push_back(std::move(value));
  }
}

}  // namespace

PreparedCall::PreparedCall(const std::string& op, const std::vector<Arg>& args,
                           c10::Device device) {
  if (op == "lowwater::select" && args.size() == 3) {
    kind_ = Kind::select;
  } else if (op.starts_with("sym::")) {
    kind_ = Kind::symbolic;
    sym_ = find_sym_function(op, args.size());
    if (sym_ == nullptr) throw Error(ErrorKind::unsupported, "no such operator on sizes", op);
  } else {
    handle_ = find_operator(op);
    for (const auto& [scatter, view] : kScatters) {
      if (op != scatter) continue;
      kind_ = Kind::scatter;
      view_ = find_operator(std::string(view));
    }
  }
  try {
    for (const Arg& arg : args) add_argument(arg, device);
    add_defaults(device);
  } catch (const Error& error) {
    throw Error(error.kind(), error.message() + ": argument " + std::to_string(constants_.size()),
                op);
  }
}

void PreparedCall::add_argument(const Arg& arg, c10::Device device) {
  Operand operand{.argument = constants_.size(), .wanted = wanted_at(constants_.size())};
  if (const auto* ref = std::get_if<Ref>(&arg)) {
    operand.ref = ref->id;
  } else if (const auto* list = std::get_if<RefList>(&arg)) {
    for (const Ref& item : list->refs) operand.refs.push_back(item.id);
    const bool fits = operand.wanted.type == SchemaType::tensor_list ||
                      operand.wanted.type == SchemaType::optional_tensor_list;
    // A list of numbers each of which is known only at run time.
    operand.integers.resize(operand.refs.size());
    if (!fits && operand.wanted.type != SchemaType::integer_list) does_not_fit_schema();
  } else if (const auto* mixed = std::get_if<MixedInts>(&arg)) {
    for (const Ref& item : mixed->refs) operand.refs.push_back(item.id);
    operand.refs.resize(mixed->values.size(), -1);
    operand.integers = mixed->values;
    if (operand.wanted.type != SchemaType::integer_list) does_not_fit_schema();
  } else {
    constants_.push_back(box_constant(arg, operand.wanted, device));
    return;
  }
  constants_.emplace_back();  // None: an absent Ref stays so
  if (operand.ref >= 0 || !std::holds_alternative<Ref>(arg))
    operands_.push_back(std::move(operand));
}

Wanted PreparedCall::wanted_at(std::size_t position) const {
  if (!handle_) return {SchemaType::scalar};
  const auto& arguments = handle_->schema().arguments();
  if (position >= arguments.size()) does_not_fit_schema();
  const c10::Argument& argument = arguments[position];
  return {schema_type(*argument.real_type()), static_cast<std::size_t>(argument.N().value_or(1))};
}

void PreparedCall::add_defaults(c10::Device device) {
  if (!handle_) return;
  const auto& arguments = handle_->schema().arguments();
  const bool factory = std::none_of(arguments.begin(), arguments.end(), [](const auto& argument) {
    return holds_tensors(schema_type(*argument.real_type()));
  });
  while (constants_.size() < arguments.size()) {
    const auto& value = arguments[constants_.size()].default_value();
    if (!value) does_not_fit_schema();
    constants_.push_back(*value);
  }
  // Without operands to go by, "no device" means the host: arange, zeros ...
  for (std::size_t i = 0; factory && i < constants_.size(); ++i) {
    if (wanted_at(i).type == SchemaType::device && constants_[i].isNone()) constants_[i] = device;
  }
}

void PreparedCall::fill(Values values) {
  stack_ = constants_;
  for (const Operand& operand : operands_) {
    IValue& slot = stack_[operand.argument];
    if (operand.ref >= 0) {
      const IValue& value = value_of(values, operand.ref);
      const bool as_it_is =
          !handle_ || (value.isTensor() && operand.wanted.type == SchemaType::tensor);
      slot = as_it_is ? value : box_operand(value, operand.wanted);
    } else if (operand.wanted.type == SchemaType::integer_list) {
      slot = integer_list(operand.refs, operand.integers, values);
    } else if (operand.wanted.type == SchemaType::optional_tensor_list) {
      slot = optional_tensor_list(operand.refs, values);
    } else {
      slot = tensor_list(operand.refs, values);
    }
  }
}

// Leaves the result on the stack, like callBoxed.
void PreparedCall::run_scatter() {
  const at::Tensor copy = stack_[0].toTensor().clone();
  const at::Tensor source = stack_[1].toTensor();
  stack_.erase(stack_.begin() + 1);
  stack_[0] = copy;
  view_->callBoxed(stack_);
  stack_[0].toTensor().copy_(source);
  stack_[0] = copy;
}

std::vector<IValue> PreparedCall::run(Values values) {
  // Operands and results must not be kept alive by the reused stack.
  struct Cleared {
    std::vector<IValue>& stack;
    ~Cleared() { stack.clear(); }
  } const cleared{stack_};
  fill(values);
  std::vector<IValue> results;
  if (kind_ == Kind::symbolic) {
    results.push_back(sym_(stack_));
  } else if (kind_ == Kind::select) {
    // The layout must not depend on the choice: always row-major.
    const IValue& chosen = is_true(stack_[0]) ? stack_[1] : stack_[2];
    results.push_back(chosen.isTensor() ? chosen.toTensor().clone(at::MemoryFormat::Contiguous)
                                        : chosen);
  } else {
    if (kind_ == Kind::scatter) {
      run_scatter();
    } else {
      handle_->callBoxed(stack_);
    }
    results.reserve(stack_.size());
    for (IValue& result : stack_) flatten_into(results, result);
  }
  return results;
}

}  // namespace lowwater
