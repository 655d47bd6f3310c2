// Facts about random graphs full of views, against an interpretation that knows
// no strides: a tensor is the list of the byte addresses of its elements, a
// storage lives as long as somebody counts a reference to it.
#include "analysis/facts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/estimate.h"
#include "graph/text.h"
#include "schemas.h"

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

struct Tensor {
  int storage = 0;
  DType dtype = DType::f32;
  Ints sizes;
  Ints address;  // in bytes, by row-major index

  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(sizes.size()); }
};

std::int64_t product(const Ints& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

// The row-major positions of an index box, as `visit(index)`.
template <typename Visitor>
void for_each_index(const Ints& sizes, Visitor&& visit) {
  Ints index(sizes.size(), 0);
  for (std::int64_t i = 0; i < product(sizes); ++i) {
    visit(index);
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

std::int64_t position(const Ints& index, const Ints& sizes) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) result = result * sizes[d] + index[d];
  return result;
}

// Strides in elements, if some describe these addresses.
std::optional<Ints> strides_of(const Tensor& tensor) {
  const std::int64_t size = element_size(tensor.dtype);
  Ints strides(tensor.sizes.size(), 1);
  std::int64_t inner = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    if (tensor.sizes[d] > 1) {
      const std::int64_t step = tensor.address[static_cast<std::size_t>(inner)] - tensor.address[0];
      strides[d] = step / size;
    }
    inner *= tensor.sizes[d];
  }
  bool exact = true;
  for_each_index(tensor.sizes, [&](const Ints& index) {
    std::int64_t address = tensor.address[0];
    for (std::size_t d = 0; d < index.size(); ++d) address += index[d] * strides[d] * size;
    const auto at = static_cast<std::size_t>(position(index, tensor.sizes));
    exact = exact && address == tensor.address[at];
  });
  return exact ? std::optional(strides) : std::nullopt;
}

// Draws a graph and keeps, for each value, what it really is.
class Model {
 public:
  Graph graph;
  WeightTable weights;
  std::vector<Tensor> tensors;         // by ValueId
  std::map<int, Bytes> storage_bytes;  // of storages that nodes own
  std::map<int, NodeId> owner;

  Model() {
    for (int i = 0; i < 2; ++i) add_input();
    add_tied_weights();
    const int count = draw(1, 40);
    for (int i = 0; i < count; ++i) add_random_node();
    const int outputs = draw(1, 3);
    for (int i = 0; i < outputs; ++i) {
      graph.outputs.push_back({OutputKind::user, Ref{any()}, kNone});
      graph.output_structure.children.push_back({.leaf = i});
    }
    graph.output_structure.kind = Structure::Kind::tuple;
  }

 private:
  // Full-sized from the first case on: small cases hold no views worth a test.
  static int draw(int low, int high) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
  }
  ValueId any() const { return draw(0, static_cast<int>(tensors.size()) - 1); }
  static std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

  static Tensor dense(int storage, DType dtype, Ints sizes) {
    Tensor tensor{storage, dtype, std::move(sizes), {}};
    for (std::int64_t i = 0; i < product(tensor.sizes); ++i) {
      tensor.address.push_back(i * element_size(dtype));
    }
    return tensor;
  }

  ValueId add(Tensor tensor, ValueKind kind, std::int32_t index) {
    Value value;
    value.name = "v" + std::to_string(tensors.size());
    value.kind = kind;
    value.index = index;
    value.type = {
        .dtype = tensor.dtype, .sizes = tensor.sizes, .strides = strides_of(tensor).value()};
    tensors.push_back(std::move(tensor));
    return graph.add_value(std::move(value));
  }

  void add_input() {
    Ints sizes;
    for (int d = draw(1, 3); d > 0; --d) sizes.push_back(draw(1, 5));
    const auto index = static_cast<std::int32_t>(graph.inputs.size());
    const ValueId id = add(dense(next_storage_++, DType::f32, sizes), ValueKind::input, index);
    graph.inputs.push_back({"x" + std::to_string(index), id, {}});
    graph.input_structure.kind = Structure::Kind::tuple;
    graph.input_structure.children.push_back({.leaf = index});
  }

  // Two windows of one storage.
  void add_tied_weights() {
    const int storage = next_storage_++;
    weights.storages.push_back({0, 4000});
    const Ints sizes = {draw(1, 4), draw(1, 4)};
    for (int i = 0; i < 2; ++i) {
      const std::int64_t offset = draw(0, 500);
      Tensor tensor = dense(storage, DType::f32, sizes);
      for (std::int64_t& address : tensor.address) address += 4 * offset;
      Weight weight;
      weight.storage = 0;
      weight.sizes = tensor.sizes;
      weight.strides = contiguous_strides(tensor.sizes);
      weight.storage_offset = offset;
      weights.weights.push_back(weight);
      add(std::move(tensor), ValueKind::weight, i);
    }
  }

  Tensor fresh(DType dtype, Ints sizes) {
    const int storage = next_storage_++;
    owner[storage] = static_cast<NodeId>(graph.nodes.size());
    storage_bytes[storage] = product(sizes) * element_size(dtype);
    return dense(storage, dtype, std::move(sizes));
  }

  void add_node(const std::string& op, std::vector<Arg> args, std::vector<Tensor> outputs) {
    Node node;
    node.op = op;
    node.args = std::move(args);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      node.outputs.push_back(
          add(std::move(outputs[i]), ValueKind::node, static_cast<std::int32_t>(i)));
    }
    graph.add_node(std::move(node));
  }

  // The view whose element `index` is `from`'s element source(index).
  template <typename Source>
  static Tensor view(const Tensor& from, Ints sizes, Source&& source) {
    Tensor result{from.storage, from.dtype, std::move(sizes), {}};
    for_each_index(result.sizes, [&](const Ints& index) {
      const Ints origin = source(index);
      result.address.push_back(
          from.address[static_cast<std::size_t>(position(origin, from.sizes))]);
    });
    return result;
  }

  static Tensor slice(const Tensor& x, std::size_t dim, std::int64_t begin, std::int64_t end,
                      std::int64_t step) {
    Ints sizes = x.sizes;
    sizes[dim] = (end - begin + step - 1) / step;
    return view(x, sizes, [&](Ints index) {
      index[dim] = begin + index[dim] * step;
      return index;
    });
  }

  void add_random_node() {
    const ValueId id = any();
    const Tensor x = tensors[at(id)];
    const int kind = draw(0, 13);
    if (kind == 0) return add_node("aten::relu", {Ref{id}}, {fresh(x.dtype, x.sizes)});
    if (kind == 1) return add_sum(id, x);
    if (kind == 2 || kind > 11) return add_reshape(id, x);
    if (kind == 3) return add_node("aten::alias", {Ref{id}}, {x});
    if (kind == 4) return add_unsqueeze(id, x);
    if (x.rank() == 0) return;
    const int dim = draw(0, static_cast<int>(x.rank()) - 1);
    if (kind == 5) return add_select(id, x, dim);
    if (kind == 6 || kind == 7) return add_slice(id, x, dim);
    if (kind == 8) return add_transpose(id, x, dim);
    if (kind == 9) return add_split(id, x, dim);
    if (kind == 10) return add_expand(id, x, dim);
    return kind == 11 && draw(0, 1) == 0 ? add_topk(id, x) : add_byte_view(id, x);
  }

  // Every other sum is of two views of one storage.
  void add_sum(ValueId id, const Tensor& x) {
    const bool near = draw(0, 1) == 0;
    std::vector<ValueId> others;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& y = tensors[i];
      if (y.sizes != x.sizes || y.dtype != x.dtype) continue;
      if (!near || y.storage == x.storage) others.push_back(static_cast<ValueId>(i));
    }
    const ValueId other = others[at(draw(0, static_cast<int>(others.size()) - 1))];
    add_node("aten::add.Tensor", {Ref{id}, Ref{other}, std::int64_t{1}}, {fresh(x.dtype, x.sizes)});
  }

  // A view where some strides describe it, else a copy.
  void add_reshape(ValueId id, const Tensor& x) {
    Ints sizes;
    std::int64_t rest = product(x.sizes);
    while (rest > 1) {
      Ints divisors;
      for (std::int64_t d = 2; d <= rest; ++d) {
        if (rest % d == 0) divisors.push_back(d);
      }
      sizes.push_back(divisors[at(draw(0, static_cast<int>(divisors.size()) - 1))]);
      rest /= sizes.back();
    }
    // The same shape is contiguous()'s business in the estimate.
    if (sizes == x.sizes) return;
    Tensor seen = x;
    seen.sizes = sizes;
    const bool is_view = strides_of(seen).has_value();
    add_node("aten::reshape", {Ref{id}, sizes}, {is_view ? seen : fresh(x.dtype, sizes)});
  }

  void add_unsqueeze(ValueId id, const Tensor& x) {
    if (x.rank() >= 4) return;
    Tensor y = x;
    y.sizes.insert(y.sizes.begin(), 1);
    add_node("aten::unsqueeze", {Ref{id}, std::int64_t{0}}, {y});
  }

  void add_select(ValueId id, const Tensor& x, int dim) {
    const std::int64_t index = draw(0, static_cast<int>(x.sizes[at(dim)]) - 1);
    Tensor y = slice(x, at(dim), index, index + 1, 1);
    y.sizes.erase(y.sizes.begin() + dim);
    const std::int64_t given = draw(0, 1) == 0 ? index : index - x.sizes[at(dim)];
    add_node("aten::select.int", {Ref{id}, std::int64_t{dim}, given}, {y});
  }

  void add_slice(ValueId id, const Tensor& x, int dim) {
    const int size = static_cast<int>(x.sizes[at(dim)]);
    const std::int64_t begin = draw(0, size - 1), end = draw(static_cast<int>(begin) + 1, size);
    const std::int64_t step = draw(1, 2);
    add_node("aten::slice.Tensor", {Ref{id}, std::int64_t{dim}, begin, end, step},
             {slice(x, at(dim), begin, end, step)});
  }

  void add_transpose(ValueId id, const Tensor& x, int dim) {
    Ints sizes = x.sizes;
    std::swap(sizes[0], sizes[at(dim)]);
    add_node("aten::transpose.int", {Ref{id}, std::int64_t{0}, std::int64_t{dim}},
             {view(x, sizes, [&](Ints index) {
               std::swap(index[0], index[at(dim)]);
               return index;
             })});
  }

  void add_split(ValueId id, const Tensor& x, int dim) {
    const std::int64_t part = draw(1, static_cast<int>(x.sizes[at(dim)]));
    std::vector<Tensor> parts;
    for (std::int64_t begin = 0; begin < x.sizes[at(dim)]; begin += part) {
      parts.push_back(slice(x, at(dim), begin, std::min(begin + part, x.sizes[at(dim)]), 1));
    }
    add_node("aten::split.Tensor", {Ref{id}, part, std::int64_t{dim}}, std::move(parts));
  }

  void add_expand(ValueId id, const Tensor& x, int dim) {
    if (x.sizes[at(dim)] != 1) return;
    Ints sizes = x.sizes;
    sizes[at(dim)] = draw(1, 4);
    add_node("aten::expand", {Ref{id}, sizes, false}, {view(x, sizes, [&](Ints index) {
               index[at(dim)] = 0;
               return index;
             })});
  }

  void add_topk(ValueId id, const Tensor& x) {
    Ints sizes = x.sizes;
    sizes.back() = 1;
    Tensor values = fresh(x.dtype, sizes), indices = fresh(DType::i64, sizes);
    add_node("aten::topk", {Ref{id}, std::int64_t{1}, std::int64_t{-1}, true, true},
             {std::move(values), std::move(indices)});
  }

  // Another element size in the same storage: the last dimension must be dense.
  void add_byte_view(ValueId id, const Tensor& x) {
    const std::int64_t size = element_size(x.dtype);
    if (size == 1 || (x.sizes.back() > 1 && x.address[1] - x.address[0] != size)) return;
    Tensor y{x.storage, DType::u8, x.sizes, {}};
    y.sizes.back() *= size;
    for (const std::int64_t address : x.address) {
      for (std::int64_t byte = 0; byte < size; ++byte) y.address.push_back(address + byte);
    }
    if (strides_of(y)) add_node("aten::view.dtype", {Ref{id}, DType::u8}, {y});
  }

  int next_storage_ = 0;
};

Ints addresses(const TensorMeta& meta) {
  Ints result;
  for_each_index(meta.sizes, [&](const Ints& index) {
    std::int64_t element = meta.storage_offset;
    for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * meta.strides[d];
    result.push_back(element * element_size(meta.dtype));
  });
  return result;
}

Facts facts_of(const Model& model) {
  static EstimatingProvider provider(snapshot_schemas());
  return collect_facts(model.graph, model.weights, provider);
}

RC_GTEST_PROP(FactsProperty, ViewsAreWhereTheyShouldBe, ()) {
  const Model model;
  RC_ASSERT(lint(model.graph).empty());
  const Facts facts = facts_of(model);
  std::map<int, StorageId> known;  // the model's storage -> ours, one to one
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const ValueFact& fact = facts.values[i];
    RC_ASSERT(addresses(fact.meta) == model.tensors[i].address);
    RC_ASSERT(known.try_emplace(model.tensors[i].storage, fact.storage).first->second ==
              fact.storage);
    const auto& group = facts.storages[static_cast<std::size_t>(fact.storage)].values;
    RC_ASSERT(std::count(group.begin(), group.end(), static_cast<ValueId>(i)) == 1);
  }
  std::size_t grouped = 0;
  for (const Storage& storage : facts.storages) grouped += storage.values.size();
  RC_ASSERT(grouped == model.tensors.size());
  RC_ASSERT(known.size() == facts.storages.size());
}

RC_GTEST_PROP(FactsProperty, SpecsDescribeTheSameMemoryFromItsStart, ()) {
  const Model model;
  const Facts facts = facts_of(model);
  for (std::size_t n = 0; n < model.graph.nodes.size(); ++n) {
    const StepSpec& spec = facts.specs[n];
    const auto operands = tensor_operands(model.graph, model.graph.nodes[n], facts.values);
    RC_ASSERT(operands.size() == spec.tensors.size());
    std::map<std::int32_t, std::int64_t> moved;  // per group: how far, and to where
    std::map<std::int32_t, std::int64_t> lowest, highest;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Tensor& tensor = model.tensors[static_cast<std::size_t>(operands[i])];
      const Ints now = addresses(spec.tensors[i]);
      const std::int32_t group = spec.storage_group[i];
      const std::int64_t distance = tensor.address[0] - now[0];
      RC_ASSERT(moved.try_emplace(group, distance).first->second == distance);
      RC_ASSERT(distance % 512 == 0 && distance >= 0);
      for (const std::int64_t address : now) {
        const std::int64_t end = address + element_size(tensor.dtype);
        lowest[group] = lowest.contains(group) ? std::min(lowest[group], address) : address;
        highest[group] = std::max(highest[group], end);
      }
    }
    for (const auto& [group, address] : lowest) RC_ASSERT(address >= 0 && address < 512);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      RC_ASSERT(spec.tensors[i].storage_bytes == highest[spec.storage_group[i]]);
    }
  }
}

// Runs the graph as Python would: a value dies after its last use, a storage
// with its last value. Compares lifetimes and live bytes.
RC_GTEST_PROP(FactsProperty, LifetimesMatchReferenceCounts, ()) {
  const Model model;
  const Facts facts = facts_of(model);
  const auto count = static_cast<NodeId>(model.graph.nodes.size());
  std::vector<int> uses(model.tensors.size(), 0);  // reads still to come, the caller's included
  for (const auto& node : model.graph.nodes) {
    for (const ValueId id : node_inputs(node)) ++uses[static_cast<std::size_t>(id)];
  }
  for (const Output& output : model.graph.outputs) {
    ++uses[static_cast<std::size_t>(std::get<Ref>(output.value).id)];
  }
  std::map<int, int> references;  // per storage: values that exist
  std::map<int, NodeId> freed;
  const auto release = [&](ValueId id, NodeId now) {
    const int storage = model.tensors[static_cast<std::size_t>(id)].storage;
    if (--references[storage] == 0) freed[storage] = now;
  };
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.graph.values[i].kind != ValueKind::node) ++references[model.tensors[i].storage];
  }
  const Footprint footprint = eager_footprint(model.graph, facts);
  Bytes live = 0;
  for (NodeId now = 0; now < count; ++now) {
    const Node& node = model.graph.node(now);
    for (const ValueId id : node.outputs)
      ++references[model.tensors[static_cast<std::size_t>(id)].storage];
    for (const auto& [storage, owner] : model.owner) {
      if (owner == now) live += model.storage_bytes.at(storage);
    }
    RC_ASSERT(footprint.at_node[static_cast<std::size_t>(now)] == live);
    const auto before = freed;
    for (const ValueId id : node_inputs(node)) {
      if (--uses[static_cast<std::size_t>(id)] == 0) release(id, now);
    }
    for (const ValueId id : node.outputs) {
      if (uses[static_cast<std::size_t>(id)] == 0) release(id, now);
    }
    for (const auto& [storage, when] : freed) {
      if (!before.contains(storage) && model.owner.contains(storage))
        live -= model.storage_bytes.at(storage);
    }
  }
  const std::vector<LiveRange> ranges = live_ranges(model.graph, facts);
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const int storage = model.tensors[i].storage;
    const LiveRange& range = ranges[static_cast<std::size_t>(facts.values[i].storage)];
    if (!model.owner.contains(storage)) {
      RC_ASSERT(range.begin == kNone);
      continue;
    }
    RC_ASSERT(range.begin == model.owner.at(storage));
    RC_ASSERT(range.end == (freed.contains(storage) ? freed.at(storage) : count));
  }
}

}  // namespace
}  // namespace lowwater
