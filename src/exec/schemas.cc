#include "exec/schemas.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>
#include <torch/version.h>

#include <optional>
#include <string>
#include <utility>

#include "exec/executor_tensors.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

SchemaType list_type(const c10::Type& element) {
  switch (element.kind()) {
    case c10::TypeKind::TensorType:
      return SchemaType::tensor_list;
    case c10::TypeKind::OptionalType:
      return schema_type(element) == SchemaType::tensor ? SchemaType::optional_tensor_list
                                                        : SchemaType::other;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return SchemaType::integer_list;
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
      return SchemaType::real_list;
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
      return SchemaType::boolean_list;
    default:
      return SchemaType::other;
  }
}

Arg dtype_default(std::int64_t code) {
  try {
    return dtype_of(static_cast<c10::ScalarType>(code));
  } catch (const Error&) {
    return std::monostate{};  // a type that no archive can name
  }
}

Arg memory_format_default(std::int64_t code) {
  switch (static_cast<c10::MemoryFormat>(code)) {
    case c10::MemoryFormat::ChannelsLast:
      return MemoryFormat::channels_last;
    case c10::MemoryFormat::ChannelsLast3d:
      return MemoryFormat::channels_last_3d;
    case c10::MemoryFormat::Preserve:
      return MemoryFormat::preserve;
    default:
      return MemoryFormat::contiguous;
  }
}

// Enumerations come as integers: only the type tells them from numbers.
Arg integer_default(std::int64_t value, SchemaType type) {
  switch (type) {
    case SchemaType::dtype:
      return dtype_default(value);
    case SchemaType::memory_format:
      return memory_format_default(value);
    case SchemaType::layout:
      return Layout::strided;
    case SchemaType::real:
      return static_cast<double>(value);
    default:
      return value;
  }
}

// nullopt: a default that Arg cannot hold (no operator of a network needs one).
std::optional<Arg> default_arg(const c10::IValue& value, SchemaType type) {
  if (value.isNone()) return std::monostate{};
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return integer_default(value.toInt(), type);
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return value.toDevice().is_cpu() ? DeviceArg::host : DeviceArg::plan_device;
  if (value.isIntList()) return value.toIntVector();
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isBoolList()) {
    const auto list = value.toBoolList();
    return std::vector<bool>(list.begin(), list.end());
  }
  if (value.isTensorList()) return RefList{};
  return std::nullopt;
}

struct Alias {
  std::string set;
  bool write = false;
};

// The set of the value itself, else of what a list holds: Tensor(a)[].
Alias alias_of(const c10::AliasInfo* info) {
  if (info == nullptr) return {};
  for (const c10::Symbol& set : info->beforeSets()) {
    if (!info->isWildcardBefore()) return {set.toUnqualString(), info->isWrite()};
  }
  for (const c10::AliasInfo& inner : info->containedTypes()) {
    if (Alias alias = alias_of(&inner); !alias.set.empty()) return alias;
  }
  return {info->beforeSets().empty() ? "" : "*", info->isWrite()};
}

SchemaArg convert(const c10::Argument& argument) {
  SchemaArg result;
  result.name = argument.name();
  result.type = schema_type(*argument.real_type());
  result.optional = argument.real_type()->kind() == c10::TypeKind::OptionalType;
  result.kwarg_only = argument.kwarg_only();
  if (argument.default_value()) {
    if (auto value = default_arg(*argument.default_value(), result.type)) {
      result.has_default = true;
      result.default_value = std::move(*value);
    }
  }
  const Alias alias = alias_of(argument.alias_info());
  result.alias = alias.set;
  result.is_write = alias.write;
  return result;
}

Schema convert(const c10::OperatorHandle& handle) {
  const c10::FunctionSchema& schema = handle.schema();
  Schema result;
  result.name =
      schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
  for (const c10::Argument& argument : schema.arguments()) result.args.push_back(convert(argument));
  for (const c10::Argument& value : schema.returns()) {
    const Alias alias = alias_of(value.alias_info());
    result.returns.push_back({schema_type(*value.real_type()), alias.set, alias.write});
  }
  result.random = handle.hasTag(at::Tag::nondeterministic_seeded);
  result.data_dependent =
      handle.hasTag(at::Tag::data_dependent_output) || handle.hasTag(at::Tag::dynamic_output_shape);
  return result;
}

}  // namespace

SchemaType schema_type(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      return schema_type(*type.expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType:
      return list_type(*type.expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::TensorType:
      return SchemaType::tensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return SchemaType::integer;
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
      return SchemaType::real;
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
      return SchemaType::boolean;
    case c10::TypeKind::NumberType:
      return SchemaType::scalar;
    case c10::TypeKind::StringType:
      return SchemaType::string;
    case c10::TypeKind::ScalarTypeType:
      return SchemaType::dtype;
    case c10::TypeKind::LayoutType:
      return SchemaType::layout;
    case c10::TypeKind::MemoryFormatType:
      return SchemaType::memory_format;
    case c10::TypeKind::DeviceObjType:
      return SchemaType::device;
    default:
      return SchemaType::other;
  }
}

SchemaTable dump_schemas() {
  SchemaTable table;
  table.torch_version = TORCH_VERSION;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (const auto handle = dispatcher.findSchema(name)) {
      Schema schema = convert(*handle);
      std::string key = schema.name;
      table.schemas.emplace(std::move(key), std::move(schema));
    }
  }
  return table;
}

}  // namespace lowwater
