#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <unordered_map>

#include "analysis/facts.h"

namespace lowwater {
namespace {

constexpr Bytes kAlignmentClass = 512;

// as_strided addresses its operand's storage absolutely, also outside the operand.
bool addresses_whole_storage(std::string_view op) { return op.starts_with("aten::as_strided"); }

Bytes byte_offset(const TensorMeta& meta) { return meta.storage_offset * element_size(meta.dtype); }

// What stands for a number that is known only at run time, so that a record exists.
Arg placeholder(TypeKind kind) {
  switch (kind) {
    case TypeKind::integer:
      return std::int64_t{1};
    case TypeKind::real:
      return 1.0;
    case TypeKind::boolean:
      return true;
    case TypeKind::tensor:
      break;
  }
  return std::monostate{};  // an absent tensor
}

class ArgTranslator {
 public:
  ArgTranslator(const Graph& graph, const std::vector<ValueId>& operands) : graph_(graph) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      index_.emplace(operands[i], static_cast<std::int32_t>(i));
    }
  }

  // References become indices into the spec's tensors, numbers become literals.
  Arg operator()(const Arg& arg) const {
    if (const auto* ref = std::get_if<Ref>(&arg)) return translate(*ref);
    if (const auto* list = std::get_if<RefList>(&arg)) {
      RefList result;
      for (const Ref& ref : list->refs) result.refs.push_back(index_of(ref));
      return result;
    }
    if (const auto* mixed = std::get_if<MixedInts>(&arg)) return literal(*mixed);
    return arg;
  }

 private:
  Ref index_of(const Ref& ref) const {
    const auto found = index_.find(ref.id);
    return {found == index_.end() ? kNone : found->second};
  }
  Arg translate(const Ref& ref) const {
    if (ref.id < 0) return std::monostate{};
    const Ref tensor = index_of(ref);
    if (tensor.id >= 0) return tensor;
    return placeholder(graph_.value(ref.id).type.kind);
  }
  // The values beside run-time references are their upper bounds.
  static Arg literal(const MixedInts& mixed) {
    std::vector<std::int64_t> numbers = mixed.values;
    for (std::size_t i = 0; i < numbers.size() && i < mixed.refs.size(); ++i) {
      if (mixed.refs[i].id >= 0 && numbers[i] <= 0) numbers[i] = 1;
    }
    return numbers;
  }

  const Graph& graph_;
  std::unordered_map<ValueId, std::int32_t> index_;
};

// Numbers the storages in order of first appearance and moves each one.
void normalise_storages(StepSpec& spec, const std::vector<ValueId>& operands,
                        const std::vector<ValueFact>& values) {
  struct Extent {
    StorageId storage;
    Bytes begin, end;
  };
  std::vector<Extent> extents;  // by group number; few, so a search is linear
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const StorageId storage = values[static_cast<std::size_t>(operands[i])].storage;
    const TensorMeta& meta = spec.tensors[i];
    const Bytes begin = byte_offset(meta);
    const Bytes end = begin + meta.extent_bytes();
    auto found = std::find_if(extents.begin(), extents.end(),
                              [&](const Extent& extent) { return extent.storage == storage; });
    if (found == extents.end()) found = extents.insert(extents.end(), {storage, begin, end});
    found->begin = std::min(found->begin, begin);
    found->end = std::max(found->end, end);
    spec.storage_group.push_back(static_cast<std::int32_t>(found - extents.begin()));
  }
  if (addresses_whole_storage(spec.op)) return;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Extent& extent = extents[static_cast<std::size_t>(spec.storage_group[i])];
    const Bytes base = extent.begin / kAlignmentClass * kAlignmentClass;
    TensorMeta& meta = spec.tensors[i];
    meta.storage_offset -= base / element_size(meta.dtype);
    meta.storage_bytes = extent.end - base;
  }
}

}  // namespace

bool is_scalar_op(std::string_view op) { return op.starts_with("sym::"); }

std::vector<ValueId> tensor_operands(const Graph& graph, const Node& node,
                                     const std::vector<ValueFact>& values) {
  std::vector<ValueId> operands;
  for (const Arg& arg : node.args) {
    for_each_ref(arg, [&](const Ref& ref) {
      if (graph.value(ref.id).type.kind != TypeKind::tensor) return;
      if (values[static_cast<std::size_t>(ref.id)].storage == kNone) return;
      if (std::find(operands.begin(), operands.end(), ref.id) == operands.end()) {
        operands.push_back(ref.id);
      }
    });
  }
  return operands;
}

StepSpec make_spec(const Graph& graph, const Node& node, const std::vector<ValueFact>& values) {
  StepSpec spec;
  spec.op = node.op;
  const std::vector<ValueId> operands = tensor_operands(graph, node, values);
  const ArgTranslator translate(graph, operands);
  for (const Arg& arg : node.args) spec.args.push_back(translate(arg));
  for (const ValueId id : operands) {
    spec.tensors.push_back(values[static_cast<std::size_t>(id)].meta);
  }
  normalise_storages(spec, operands, values);
  for (const ValueId id : node.outputs) {
    // An output that nobody sees has no value, hence no type.
    spec.output_types.push_back(id == kNone ? Type{} : graph.value(id).type);
    if (id == kNone) continue;
    const Type& type = graph.value(id).type;
    // Sizes, or a number read from a tensor, that depend on the data.
    const bool number = type.kind != TypeKind::tensor && !operands.empty();
    spec.worst_case = spec.worst_case || type.dynamic || number;
  }
  return spec;
}

}  // namespace lowwater
