#include "graph/views.h"

#include <algorithm>

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// Can a tensor of `from` be given other sizes without copying? Each run of
// dimensions that lie densely in each other is one block of memory; the new
// sizes must split the blocks, never join two.
bool viewable(const Type& from, const Ints& sizes) {
  if (from.strides.size() != from.sizes.size()) return false;
  if (from.sizes.empty() || from.numel() == 0) return true;
  std::size_t to = sizes.size();
  std::int64_t old_block = 1, new_block = 1, step = from.strides.back();
  for (std::size_t i = from.sizes.size(); i-- > 0;) {
    old_block *= from.sizes[i];
    const bool goes_on =
        i > 0 && (from.sizes[i - 1] == 1 || from.strides[i - 1] == old_block * step);
    if (goes_on) continue;
    while (to > 0 && (new_block < old_block || sizes[to - 1] == 1)) new_block *= sizes[--to];
    if (new_block != old_block) return false;
    old_block = new_block = 1;
    if (i > 0) step = from.strides[i - 1];
  }
  return to == 0;
}

bool flag(const Node& node, const Schema& schema, const char* name) {
  for (std::size_t i = 0; i < schema.args.size() && i < node.args.size(); ++i) {
    if (schema.args[i].name == name) return node.args[i] == Arg(true);
  }
  return false;
}

// Operators that return their operand itself although the schema does not say so.
bool returns_operand(const Node& node, const Schema& schema) {
  if (node.op == "aten::type_as") return true;
  const bool dropout = node.op == "aten::dropout" || node.op == "aten::feature_dropout" ||
                       node.op == "aten::alpha_dropout" || node.op == "aten::feature_alpha_dropout";
  return dropout && !flag(node, schema, "train");
}

// The schema says that output and operand alias; here is where it may be wrong.
bool really_a_view(const Node& node, const Schema& schema, const Type& from, const Type& to) {
  if (node.op == "aten::contiguous" || starts_with(node.op, "aten::to.") ||
      node.op == "aten::type_as") {
    return from == to && !flag(node, schema, "copy");
  }
  const bool reshapes =
      starts_with(node.op, "aten::reshape") || starts_with(node.op, "aten::flatten");
  return !reshapes || viewable(from, to.sizes);
}

}  // namespace

const SchemaReturn* return_of(const Schema& schema, std::size_t index) {
  if (schema.returns.size() == 1 && schema.returns[0].type == SchemaType::tensor_list) index = 0;
  return index < schema.returns.size() ? &schema.returns[index] : nullptr;
}

ValueId viewed_value(const Graph& graph, const Node& node, const Schema* schema,
                     std::size_t index) {
  const SchemaReturn* returned = schema == nullptr ? nullptr : return_of(*schema, index);
  if (returned == nullptr || node.outputs[index] == kNone) return kNone;
  for (std::size_t i = 0; i < schema->args.size() && i < node.args.size(); ++i) {
    const bool aliases = !returned->alias.empty() && schema->args[i].alias == returned->alias;
    if (!aliases && !(i == 0 && returns_operand(node, *schema))) continue;
    const auto* ref = std::get_if<Ref>(&node.args[i]);
    if (ref == nullptr || ref->id < 0) return kNone;
    const Type& from = graph.value(ref->id).type;
    const Type& to = graph.value(node.outputs[index]).type;
    return really_a_view(node, *schema, from, to) ? ref->id : kNone;
  }
  return kNone;
}

bool may_overlap(const Type& type) {
  if (type.strides.size() != type.sizes.size() || type.numel() <= 1) return false;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    if (type.sizes[i] > 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return type.strides[a] < type.strides[b]; });
  std::int64_t reach = 0;  // of the dimensions with smaller strides
  for (const std::size_t i : order) {
    if (type.strides[i] <= reach) return true;
    reach += (type.sizes[i] - 1) * type.strides[i];
  }
  return false;
}

}  // namespace lowwater
