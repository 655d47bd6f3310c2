#include "graph/graph.h"

#include <algorithm>
#include <utility>

namespace lowwater {

std::int64_t Type::numel() const {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

Bytes Type::bytes() const { return kind == TypeKind::tensor ? numel() * element_size(dtype) : 0; }

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

std::string Graph::where(NodeId id) const {
  const Node& n = node(id);
  return n.source == kNone ? n.op : sources[static_cast<std::size_t>(n.source)];
}

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

NodeId Graph::add_node(Node node) {
  const auto id = static_cast<NodeId>(nodes.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNone) continue;
    Value& output = values[static_cast<std::size_t>(node.outputs[i])];
    output.kind = ValueKind::node;
    output.producer = id;
    output.index = static_cast<std::int32_t>(i);
  }
  nodes.push_back(std::move(node));
  return id;
}

std::vector<ValueId> node_inputs(const Node& node) {
  std::vector<ValueId> inputs;
  // Argument lists are short: a linear search beats a set.
  const auto add = [&](ValueId id) {
    if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) inputs.push_back(id);
  };
  for (const Arg& arg : node.args) {
    for_each_ref(arg, [&](const Ref& ref) { add(ref.id); });
  }
  if (node.guard != kNone) add(node.guard);
  return inputs;
}

std::vector<std::vector<NodeId>> value_users(const Graph& graph) {
  std::vector<std::vector<NodeId>> users(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : node_inputs(graph.nodes[i])) {
      users[static_cast<std::size_t>(input)].push_back(static_cast<NodeId>(i));
    }
  }
  return users;
}

namespace {

Structure leaves(Structure::Kind kind, std::size_t count) {
  Structure parent;
  parent.kind = kind;
  for (std::size_t i = 0; i < count; ++i) {
    Structure leaf;
    leaf.leaf = static_cast<std::int32_t>(i);
    parent.children.push_back(leaf);
  }
  return parent;
}

}  // namespace

Structure flat_input_structure(std::size_t count) {
  Structure whole;
  whole.kind = Structure::Kind::tuple;
  whole.children = {leaves(Structure::Kind::tuple, count), leaves(Structure::Kind::dict, 0)};
  return whole;
}

Structure flat_output_structure(std::size_t count) {
  return count == 1 ? Structure{} : leaves(Structure::Kind::tuple, count);
}

}  // namespace lowwater
