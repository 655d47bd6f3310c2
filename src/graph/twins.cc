#include "graph/twins.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace lowwater {
namespace {

// Where the twin is not called like the operator without its underscore.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNames = {{
    {"aten::normal_", "aten::normal_functional"},
    {"aten::bernoulli_.float", "aten::bernoulli.p"},
}};

// "aten::add_.Tensor" -> "aten::add.Tensor"; empty if no underscore ends the name.
std::string twin_name(const std::string& op) {
  for (const auto& [from, to] : kNames) {
    if (from == op) return std::string(to);
  }
  const std::size_t dot = op.find('.', op.rfind(':') + 1);
  const std::size_t end = dot == std::string::npos ? op.size() : dot;
  if (end == 0 || op[end - 1] != '_') return {};
  return op.substr(0, end - 1) + op.substr(end);
}

// "add" of "aten::add.Tensor"
std::string_view base_name(std::string_view op) {
  const std::size_t colon = op.rfind(':');
  op.remove_prefix(colon == std::string_view::npos ? 0 : colon + 1);
  return op.substr(0, op.find('.'));
}

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Their result is boolean whatever the operands are.
constexpr std::array<std::string_view, 16> kPredicates = {"eq",
                                                          "ne",
                                                          "lt",
                                                          "le",
                                                          "gt",
                                                          "ge",
                                                          "not_equal",
                                                          "less",
                                                          "less_equal",
                                                          "greater",
                                                          "greater_equal",
                                                          "logical_and",
                                                          "logical_or",
                                                          "logical_xor",
                                                          "logical_not",
                                                          "isin"};
// They convert to the type of the first operand also in functional form.
constexpr std::array<std::string_view, 5> kKeepType = {"copy", "fill", "masked_fill", "index_fill",
                                                       "index_put"};

DType promoted(DType a, DType b) {
  if (a == b || !is_floating(b)) return a;
  if (!is_floating(a)) return a;
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  return DType::f32;  // f16 with bf16
}

}  // namespace

const Schema* functional_twin(const Schema& schema, const SchemaTable& schemas) {
  const std::string name = twin_name(schema.name);
  const Schema* twin = name.empty() ? nullptr : schemas.find(name);
  if (twin == nullptr || twin->is_mutable() || twin->args.size() != schema.args.size() ||
      twin->returns.size() != 1 || twin->returns[0].type != SchemaType::tensor) {
    return nullptr;
  }
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    if (twin->args[i].name != schema.args[i].name || twin->args[i].type != schema.args[i].type) {
      return nullptr;
    }
    if (schema.args[i].is_write != (i == 0)) return nullptr;
  }
  return twin;
}

DType twin_dtype(const Graph& graph, const Node& node, const Schema& twin) {
  const Type& self = graph.value(std::get<Ref>(node.args[0]).id).type;
  const std::string_view name = base_name(twin.name);
  if (contains(kPredicates, name)) return DType::boolean;
  if (contains(kKeepType, name)) return self.dtype;
  DType dtype = self.dtype;
  for (std::size_t i = 1; i < node.args.size(); ++i) {
    const auto* ref = std::get_if<Ref>(&node.args[i]);
    if (ref == nullptr || ref->id < 0) continue;
    const Type& other = graph.value(ref->id).type;
    // Tensors without dimensions take part only if self has none either.
    if (other.kind != TypeKind::tensor || (other.sizes.empty() && !self.sizes.empty())) continue;
    dtype = promoted(dtype, other.dtype);
  }
  return dtype;
}

bool changes_metadata(const Schema& schema, const SchemaTable& schemas) {
  static constexpr std::array<std::string_view, 4> kNamesOfTensor = {"resize_", "resize_as_",
                                                                     "set_", "swap_"};
  if (contains(kNamesOfTensor, base_name(schema.name))) return true;
  // unsqueeze_ has the twin unsqueeze, which is a view.
  const Schema* twin = functional_twin(schema, schemas);
  return twin != nullptr && !twin->returns[0].alias.empty();
}

}  // namespace lowwater
