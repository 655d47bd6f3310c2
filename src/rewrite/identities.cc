#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "rewrite/edit.h"
#include "rewrite/rewrite.h"

namespace lowwater {
namespace {

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 2> kAliases = {"aten::alias", "aten::detach"};

// Views that change nothing if they leave the sizes as they are.
constexpr std::array<std::string_view, 14> kResizingViews = {
    "aten::view",       "aten::reshape",      "aten::_unsafe_view",       "aten::expand",
    "aten::expand_as",  "aten::broadcast_to", "aten::flatten.using_ints", "aten::unflatten.int",
    "aten::squeeze",    "aten::squeeze.dim",  "aten::squeeze.dims",       "aten::narrow",
    "aten::reshape_as", "aten::view_as"};

constexpr std::array<std::string_view, 4> kDropouts = {
    "aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"};

template <typename T>
const T* arg_as(const Node& node, std::size_t index) {
  return index < node.args.size() ? std::get_if<T>(&node.args[index]) : nullptr;
}

// Absent, None, or equal to `value`.
template <typename T>
bool is_default(const Node& node, std::size_t index, const T& value) {
  if (index >= node.args.size()) return true;
  if (std::holds_alternative<std::monostate>(node.args[index])) return true;
  const T* given = std::get_if<T>(&node.args[index]);
  return given != nullptr && *given == value;
}

// Each element once, without gaps: then "preserve" keeps the strides.
bool is_dense(const Type& type) {
  if (type.strides.size() != type.sizes.size()) return true;  // row-major
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;    // stride, size
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    if (type.sizes[i] != 1) dims.emplace_back(type.strides[i], type.sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

bool permutes_nothing(const Node& node, std::size_t rank) {
  const auto wrap = [&](std::int64_t dim) {
    return dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
  };
  if (node.op == "aten::transpose.int") {
    const auto* first = arg_as<std::int64_t>(node, 1);
    const auto* second = arg_as<std::int64_t>(node, 2);
    return first != nullptr && second != nullptr && wrap(*first) == wrap(*second);
  }
  const auto* dims = arg_as<std::vector<std::int64_t>>(node, 1);
  if (node.op != "aten::permute" || dims == nullptr) return false;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    if (wrap((*dims)[i]) != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

// The operator returns its operand's storage and layout unchanged.
bool is_identity_view(const Node& node, const Type& from, const Type& to) {
  if (contains(kAliases, node.op)) return true;
  if (contains(kDropouts, node.op)) {
    const bool* train = arg_as<bool>(node, 2);
    return train != nullptr && !*train;
  }
  if (from.dynamic || to.dynamic || from.sizes != to.sizes || from.dtype != to.dtype) return false;
  if (contains(kResizingViews, node.op) || node.op == "aten::type_as") return true;
  // With step 1 a slice of the full length begins at 0.
  if (node.op == "aten::slice.Tensor") return is_default(node, 4, std::int64_t{1});
  if (node.op == "aten::to.dtype") {
    return is_default(node, 3, false) && is_default(node, 4, MemoryFormat::preserve);
  }
  return permutes_nothing(node, from.sizes.size());
}

// The operator returns a copy that differs in nothing but its address. A copy
// into a named memory format stays: what layout the operand will really have is
// the kernels' choice, and views after the copy may depend on it.
bool is_plain_copy(const Node& node, const Type& from, const Type& to) {
  if (from.dynamic || to.dynamic || from.sizes != to.sizes || from.dtype != to.dtype) return false;
  if (!is_dense(from)) return false;
  if (node.op == "aten::clone") return is_default(node, 1, MemoryFormat::preserve);
  // _to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format)
  return node.op == "aten::_to_copy" && is_default(node, 3, DeviceArg::plan_device) &&
         is_default(node, 4, false) && is_default(node, 6, MemoryFormat::preserve);
}

bool may_return_a_view(const Node& node, const RewriteContext& context) {
  if (contains(kAliases, node.op) || contains(kDropouts, node.op) ||
      contains(kResizingViews, node.op)) {
    return true;
  }
  const Schema* schema = context.schemas == nullptr ? nullptr : context.schemas->find(node.op);
  if (schema == nullptr) return true;  // who knows
  return node.op == "aten::type_as" || node.op == "aten::broadcast_tensors" ||
         node.op.starts_with("aten::meshgrid") ||
         std::any_of(schema->returns.begin(), schema->returns.end(),
                     [](const SchemaReturn& item) { return !item.alias.empty(); });
}

// By ValueId: the values that an output may be a view of. A copy among them is
// what keeps the caller's output apart from inputs and weights, and what keeps
// two buffers apart that exchange their contents.
std::vector<bool> escaping_values(const Graph& graph, const RewriteContext& context) {
  std::vector<bool> escapes(graph.values.size(), false);
  const auto mark = [&](ValueId id) { escapes[static_cast<std::size_t>(id)] = true; };
  for (const Output& output : graph.outputs) {
    for_each_ref(output.value, [&](const Ref& ref) { mark(ref.id); });
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool any = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != kNone && escapes[static_cast<std::size_t>(id)];
    });
    if (!any || !may_return_a_view(node, context)) continue;
    for (const ValueId id : node_inputs(node)) mark(id);
  }
  return escapes;
}

// A copy of a part lets the rest be freed: dropping it would cost memory.
bool is_part_of_a_larger_result(const Graph& graph, ValueId id, const RewriteContext& context) {
  const Bytes bytes = graph.value(id).type.bytes();
  while (graph.value(id).kind == ValueKind::node) {
    if (graph.value(id).type.bytes() > bytes) return true;
    const Node& node = graph.node(graph.value(id).producer);
    const Ref* base = arg_as<Ref>(node, 0);
    if (base == nullptr || base->id < 0 || !may_return_a_view(node, context)) return false;
    id = base->id;
  }
  return false;  // inputs and weights stay anyway
}

}  // namespace

int remove_identities(Graph& graph, const RewriteContext& context) {
  // Only a barrier writes; without one a value and its copy can not drift apart.
  const bool is_pure = std::none_of(graph.nodes.begin(), graph.nodes.end(),
                                    [](const Node& node) { return node.barrier; });
  const std::vector<bool> escapes = escaping_values(graph, context);
  std::vector<ValueId> replacement = no_replacement(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  int changes = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Ref* operand = arg_as<Ref>(node, 0);
    if (node.barrier || node.outputs.size() != 1 || node.outputs[0] == kNone) continue;
    if (operand == nullptr || operand->id < 0) continue;
    const ValueId result = node.outputs[0];
    const Type& from = graph.value(operand->id).type;
    const Type& to = graph.value(result).type;
    const bool drop =
        is_identity_view(node, from, to) ||
        (is_pure && !escapes[static_cast<std::size_t>(result)] && is_plain_copy(node, from, to) &&
         !is_part_of_a_larger_result(graph, operand->id, context));
    if (!drop) continue;
    replacement[static_cast<std::size_t>(result)] = operand->id;
    removed[i] = true;
    ++changes;
  }
  if (changes == 0) return 0;
  replace_uses(graph, std::move(replacement));
  compact(graph, removed, std::vector<bool>(graph.values.size(), false));
  return changes;
}

}  // namespace lowwater
