#include "analysis/estimate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/views.h"
#include "ops/op_table.h"

namespace lowwater {
namespace {

constexpr double kBytesPerMs = 10e6;   // 10 GB/s
constexpr double kFlopsPerMs = 100e6;  // 100 GFLOP/s

// Schemas do not say that these return their operand's storage.
constexpr std::array<std::string_view, 8> kUndeclaredAliases = {
    "aten::_unsafe_view",  "aten::dropout",          "aten::feature_dropout",
    "aten::alpha_dropout", "aten::type_as",          "aten::broadcast_tensors",
    "aten::meshgrid",      "aten::meshgrid.indexing"};

// Views where the layout permits, else copies.
bool is_view_or_copy(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kOps = {
      "aten::reshape",       "aten::contiguous", "aten::flatten.using_ints",
      "aten::type_as",       "aten::to",         "aten::_unsafe_view",
      "aten::unflatten.int", "aten::ravel",      "aten::reshape_as"};
  return op.starts_with("aten::to.") || std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

// Which operand output `i` is a view of, as far as names tell.
std::optional<std::int32_t> aliased_operand(const StepSpec& spec, std::size_t output,
                                            const SchemaTable& schemas) {
  const auto operand = [&](std::size_t argument) -> std::optional<std::int32_t> {
    if (argument >= spec.args.size()) return std::nullopt;
    if (const auto* ref = std::get_if<Ref>(&spec.args[argument])) return ref->id;
    const auto* list = std::get_if<RefList>(&spec.args[argument]);
    if (list == nullptr || output >= list->refs.size() || list->refs[output].id < 0) {
      return std::nullopt;
    }
    return list->refs[output].id;
  };
  const auto* undeclared = std::find(kUndeclaredAliases.begin(), kUndeclaredAliases.end(), spec.op);
  if (undeclared != kUndeclaredAliases.end()) return operand(0);
  const Schema* schema = schemas.find(spec.op);
  if (schema == nullptr || schema->returns.empty()) return std::nullopt;
  // A list of views (split) is one return.
  const std::string& set = schema->returns[std::min(output, schema->returns.size() - 1)].alias;
  if (set.empty()) return std::nullopt;
  for (std::size_t i = 0; i < schema->args.size(); ++i) {
    if (schema->args[i].alias == set) return operand(i);
  }
  return std::nullopt;
}

std::int64_t int_arg(const StepSpec& spec, std::size_t index, std::int64_t fallback) {
  if (index >= spec.args.size()) return fallback;
  const auto* value = std::get_if<std::int64_t>(&spec.args[index]);
  return value == nullptr ? fallback : *value;
}

// An index counted from the end becomes one from the start, inside [0, size].
std::int64_t wrap(std::int64_t index, std::int64_t size) {
  return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
}

// Elements between the operand's first element and that of output `output`.
std::int64_t view_offset(const StepSpec& spec, const TensorMeta& operand, std::size_t output) {
  const bool splits = spec.op.starts_with("aten::split") || spec.op.starts_with("aten::chunk") ||
                      spec.op == "aten::unbind.int";
  const bool picks =
      spec.op == "aten::select.int" || spec.op == "aten::slice.Tensor" || spec.op == "aten::narrow";
  const auto rank = static_cast<std::int64_t>(operand.sizes.size());
  if ((!splits && !picks) || rank == 0) return 0;
  const bool is_unbind = spec.op == "aten::unbind.int";
  const auto dim =
      static_cast<std::size_t>(wrap(int_arg(spec, splits && !is_unbind ? 2 : 1, 0), rank));
  if (dim >= operand.sizes.size()) return 0;
  std::int64_t index = 0;
  if (is_unbind) {
    index = static_cast<std::int64_t>(output);
  } else if (splits) {
    for (std::size_t i = 0; i < output; ++i) index += spec.output_types[i].sizes[dim];
  } else {
    index = wrap(int_arg(spec, 2, 0), operand.sizes[dim]);
  }
  return index * operand.strides[dim];
}

TensorMeta exported_meta(const Type& type) {
  TensorMeta meta{type.dtype, type.sizes, type.strides, 0, 0};
  if (meta.strides.size() != meta.sizes.size()) meta.strides = contiguous_strides(meta.sizes);
  return meta;
}

// The view that output `output` is, if it is one.
std::optional<StepOutput> estimate_alias(const StepSpec& spec, std::size_t output,
                                         const SchemaTable& schemas) {
  const auto source = aliased_operand(spec, output, schemas);
  if (!source) return std::nullopt;
  const TensorMeta& operand = spec.tensors[static_cast<std::size_t>(*source)];
  TensorMeta meta = exported_meta(spec.output_types[output]);
  const bool same_numel = spec.output_types[output].numel() ==
                          Type{.dtype = operand.dtype, .sizes = operand.sizes}.numel();
  const bool regroups = spec.op == "aten::view" || is_view_or_copy(spec.op);
  if (regroups && meta.dtype == operand.dtype && same_numel) {
    auto strides = view_strides(operand, meta.sizes);
    const bool keeps_shape = meta.sizes == operand.sizes;
    // contiguous() and to() copy unless the layout is the wanted one already.
    if (strides && keeps_shape && is_view_or_copy(spec.op) && !same_layout(operand, meta)) {
      strides.reset();
    }
    if (!strides) return std::nullopt;
    meta.strides = std::move(*strides);
  } else if (is_view_or_copy(spec.op)) {
    return std::nullopt;
  }
  const Bytes start =
      (operand.storage_offset + view_offset(spec, operand, output)) * element_size(operand.dtype);
  meta.storage_offset = start / element_size(meta.dtype);
  meta.storage_bytes = operand.storage_bytes;
  // Strides as exported may not suit the operand's real layout: then a copy is assumed.
  if (start + meta.extent_bytes() > operand.storage_bytes) return std::nullopt;
  return StepOutput{OutputHome::alias, *source, std::move(meta)};
}

StepOutput estimate_fresh(const Type& type, StepRecord& record) {
  TensorMeta meta = exported_meta(type);
  if (!is_dense(meta)) meta.strides = contiguous_strides(meta.sizes);
  meta.storage_bytes = type.bytes();
  std::int32_t id = 0;
  for (const AllocEvent& event : record.events) id = std::max(id, event.id + 1);
  record.events.push_back({true, id, meta.storage_bytes});
  return {OutputHome::fresh, id, std::move(meta)};
}

// Multiply-adds of the families where they, not bytes, set the time.
double estimate_flops(const StepSpec& spec, const OpRow& row) {
  if (spec.tensors.size() < 2 || spec.output_types.empty()) return 0;
  const auto numel = [](const TensorMeta& meta) {
    return static_cast<double>(Type{.dtype = meta.dtype, .sizes = meta.sizes}.numel());
  };
  const auto out = static_cast<double>(spec.output_types[0].numel());
  const TensorMeta& left = spec.tensors[0];
  const TensorMeta& right = spec.tensors[1];
  if (spec.op.starts_with("aten::conv") && !right.sizes.empty()) {
    // Per output element one column of the weight; transposed: per input element.
    const bool transposed = spec.op.starts_with("aten::conv_transpose");
    const auto channels = static_cast<double>(std::max<std::int64_t>(right.sizes[0], 1));
    return 2 * (transposed ? numel(left) : out) * numel(right) / channels;
  }
  if (row.cost != CostClass::matmul || left.sizes.empty()) return 0;
  if (spec.op == "aten::scaled_dot_product_attention" && right.sizes.size() >= 2) {
    return 4 * numel(left) * static_cast<double>(right.sizes[right.sizes.size() - 2]);
  }
  return 2 * out * static_cast<double>(left.sizes.back());
}

double estimate_ms(const StepSpec& spec, const StepRecord& record) {
  const OpRow* row = find_op(spec.op);
  if (row != nullptr && row->cost == CostClass::free) return 0;
  Bytes bytes = 0;
  for (const AllocEvent& event : record.events) bytes += event.size;
  if (bytes == 0) return 0;  // a view
  for (const TensorMeta& tensor : spec.tensors) bytes += tensor.extent_bytes();
  const double flops = row == nullptr ? 0 : estimate_flops(spec, *row);
  return static_cast<double>(bytes) / kBytesPerMs + flops / kFlopsPerMs;
}

}  // namespace

StepRecord estimate_step(const StepSpec& spec, const SchemaTable& schemas) {
  StepRecord record;
  record.basis = Basis::estimated;
  for (std::size_t i = 0; i < spec.output_types.size(); ++i) {
    const Type& type = spec.output_types[i];
    if (type.kind != TypeKind::tensor) {
      record.outputs.push_back({OutputHome::scalar, 0, {}});
    } else if (auto alias = estimate_alias(spec, i, schemas)) {
      record.outputs.push_back(std::move(*alias));
    } else {
      record.outputs.push_back(estimate_fresh(type, record));
    }
  }
  record.ms = estimate_ms(spec, record);
  return record;
}

const StepRecord& EstimatingProvider::record(const StepSpec& spec) {
  // What the key leaves out may differ: two archives' types for one call.
  std::string key = spec.key();
  for (const Type& type : spec.output_types) {
    key += ' ';
    key += dtype_name(type.dtype);
    for (const std::int64_t size : type.sizes) key += ',' + std::to_string(size);
    for (const std::int64_t stride : type.strides) key += ':' + std::to_string(stride);
  }
  const auto [found, is_new] = records_.try_emplace(std::move(key));
  if (is_new) found->second = estimate_step(spec, schemas_);
  return found->second;
}

}  // namespace lowwater
