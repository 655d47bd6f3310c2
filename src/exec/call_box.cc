#include "exec/call_box.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/Scalar.h>

#include <cmath>
#include <complex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "exec/executor_tensors.h"
#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using c10::IValue;
using c10::Scalar;

c10::MemoryFormat memory_format_of(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::contiguous:
      return c10::MemoryFormat::Contiguous;
    case MemoryFormat::channels_last:
      return c10::MemoryFormat::ChannelsLast;
    case MemoryFormat::channels_last_3d:
      return c10::MemoryFormat::ChannelsLast3d;
    case MemoryFormat::preserve:
      return c10::MemoryFormat::Preserve;
  }
  does_not_fit_schema();
}

// Lives outside every arena: numbers are not the plan's business.
at::Tensor wrapped_tensor(const Scalar& number) {
  const NativeScope native(c10::kCPU);
  return at::native::wrapped_scalar_tensor(number);
}

// An integer may come as 2.0, never as 2.5.
std::int64_t whole(const Scalar& number) {
  const bool fraction =
      number.isFloatingPoint() && std::trunc(number.toDouble()) != number.toDouble();
  if (fraction || number.isComplex()) does_not_fit_schema();
  return number.to<std::int64_t>();
}

template <typename Element>
IValue repeated(Element element, std::size_t length) {
  return c10::List<Element>(std::vector<Element>(length, element));
}

// A number where the schema wants `wanted`.
IValue box_number(const Scalar& number, Wanted wanted) {
  switch (wanted.type) {
    case SchemaType::tensor:
      return wrapped_tensor(number);
    case SchemaType::scalar:
      return IValue(number);
    case SchemaType::integer:
      return whole(number);
    case SchemaType::real:
      return number.toDouble();
    case SchemaType::boolean:
      return number.toBool();
    case SchemaType::integer_list:
      return repeated(whole(number), wanted.length);
    case SchemaType::real_list:
      return repeated(number.toDouble(), wanted.length);
    default:
      does_not_fit_schema();
  }
}

// Each alternative of Arg that does not refer to a value.
class Boxer {
 public:
  Boxer(Wanted wanted, c10::Device device) : wanted_(wanted), device_(device) {}

  IValue operator()(std::monostate) const { return {}; }
  IValue operator()(bool value) const {
    if (wanted_.type == SchemaType::boolean_list) {
      return boolean_list(std::vector<bool>(wanted_.length, value));
    }
    return box_number(Scalar(value), wanted_);
  }
  IValue operator()(std::int64_t value) const { return box_number(Scalar(value), wanted_); }
  IValue operator()(double value) const { return box_number(Scalar(value), wanted_); }
  IValue operator()(const std::complex<double>& value) const {
    return box_number(Scalar(c10::complex<double>(value)), wanted_);
  }
  IValue operator()(const WrappedNumber& number) const {
    return std::visit([this](const auto& value) { return (*this)(value); }, number.value);
  }
  IValue operator()(const std::string& value) const { return value; }
  IValue operator()(DType value) const { return static_cast<std::int64_t>(scalar_type_of(value)); }
  IValue operator()(MemoryFormat value) const {
    return static_cast<std::int64_t>(memory_format_of(value));
  }
  IValue operator()(Layout) const { return static_cast<std::int64_t>(c10::Layout::Strided); }
  IValue operator()(DeviceArg value) const {
    return value == DeviceArg::plan_device ? device_ : c10::Device(c10::kCPU);
  }
  IValue operator()(const std::vector<bool>& values) const {
    if (wanted_.type == SchemaType::boolean_list) return boolean_list(values);
    return other_list(values.empty());
  }
  IValue operator()(const std::vector<std::int64_t>& values) const {
    if (wanted_.type == SchemaType::integer_list) return c10::List<std::int64_t>(values);
    if (wanted_.type == SchemaType::real_list) {
      return c10::List<double>(std::vector<double>(values.begin(), values.end()));
    }
    return other_list(values.empty());
  }
  IValue operator()(const std::vector<double>& values) const {
    if (wanted_.type == SchemaType::real_list) return c10::List<double>(values);
    return other_list(values.empty());
  }
  template <typename Operand>  // Ref, RefList, MixedInts: not constants
  IValue operator()(const Operand&) const {
    does_not_fit_schema();
  }

 private:
  static IValue boolean_list(const std::vector<bool>& values) {
    c10::List<bool> list;
    for (const bool value : values) list.push_back(value);
    return list;
  }
  // An empty list fits every list type.
  IValue other_list(bool empty) const {
    if (!empty) does_not_fit_schema();
    switch (wanted_.type) {
      case SchemaType::tensor_list:
        return c10::List<at::Tensor>();
      case SchemaType::optional_tensor_list:
        return c10::List<std::optional<at::Tensor>>();
      case SchemaType::integer_list:
        return c10::List<std::int64_t>();
      case SchemaType::real_list:
        return c10::List<double>();
      case SchemaType::boolean_list:
        return c10::List<bool>();
      default:
        does_not_fit_schema();
    }
  }

  Wanted wanted_;
  c10::Device device_;
};

}  // namespace

void does_not_fit_schema() {
  throw Error(ErrorKind::internal, "an argument does not fit the operator's schema");
}

IValue box_constant(const Arg& arg, Wanted wanted, c10::Device device) {
  return std::visit(Boxer(wanted, device), arg);
}

IValue box_operand(const IValue& value, Wanted wanted) {
  if (value.isTensor()) {
    const bool number = wanted.type == SchemaType::integer || wanted.type == SchemaType::real ||
                        wanted.type == SchemaType::boolean || wanted.type == SchemaType::scalar;
    return number ? box_number(value.toTensor().item(), wanted) : value;
  }
  return value.isScalar() ? box_number(value.toScalar(), wanted) : value;
}

}  // namespace lowwater
