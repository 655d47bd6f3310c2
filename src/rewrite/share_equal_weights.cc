#include <cstddef>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "rewrite/edit.h"
#include "rewrite/rewrite.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Storages that something writes: their bytes may come to differ.
std::unordered_set<StorageIndex> written_storages(const Graph& graph, const WeightTable& table) {
  std::unordered_set<StorageIndex> written;
  for (const Output& output : graph.outputs) {
    if (output.kind == OutputKind::buffer_mutation) {
      written.insert(table.weights.at(at(output.target)).storage);
    }
  }
  for (const Node& node : graph.nodes) {
    if (!node.barrier) continue;
    for (const ValueId id : node_inputs(node)) {
      const Value& value = graph.value(id);
      if (value.kind == ValueKind::weight) {
        written.insert(table.weights.at(at(value.index)).storage);
      }
    }
  }
  return written;
}

bool same_bytes(const Archive& archive, StorageIndex a, StorageIndex b) {
  // The CRC is checked when the weight is first used.
  const auto left = archive.storage_bytes(a, false);
  const auto right = archive.storage_bytes(b, false);
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0);
}

// For each storage the first one with the same bytes. Only storages whose
// records have equal size and CRC are read.
std::vector<StorageIndex> equal_storages(const Graph& graph, const RewriteContext& context) {
  const WeightTable& table = *context.weights;
  std::vector<StorageIndex> first_equal(table.storages.size());
  for (std::size_t i = 0; i < first_equal.size(); ++i) {
    first_equal[i] = static_cast<StorageIndex>(i);
  }
  if (context.archive == nullptr) return first_equal;
  const auto written = written_storages(graph, table);
  std::map<std::pair<Bytes, std::uint32_t>, std::vector<StorageIndex>> candidates;
  for (std::size_t i = 0; i < first_equal.size(); ++i) {
    const auto storage = static_cast<StorageIndex>(i);
    if (table.storages[i].record < 0 || written.contains(storage)) continue;
    const Record& record = context.archive->records().at(at(table.storages[i].record));
    auto& others = candidates[{record.size, record.crc}];
    bool found = false;
    for (const StorageIndex other : others) {
      if (table.storages[at(other)].record != table.storages[i].record &&
          !same_bytes(*context.archive, other, storage)) {
        continue;
      }
      first_equal[i] = other;
      found = true;
      break;
    }
    if (!found) others.push_back(storage);
  }
  return first_equal;
}

}  // namespace

int share_equal_weights(Graph& graph, const RewriteContext& context) {
  if (context.weights == nullptr) return 0;
  const std::vector<StorageIndex> first_equal = equal_storages(graph, context);
  using View = std::tuple<StorageIndex, DType, std::vector<std::int64_t>, std::vector<std::int64_t>,
                          std::int64_t>;
  std::map<View, ValueId> seen;
  std::vector<ValueId> replacement = no_replacement(graph);
  std::vector<bool> merged(graph.values.size(), false);
  int changes = 0;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].kind != ValueKind::weight) continue;
    const Weight& weight = context.weights->weights.at(at(graph.values[i].index));
    const View view{first_equal.at(at(weight.storage)), weight.dtype, weight.sizes, weight.strides,
                    weight.storage_offset};
    const auto [found, is_new] = seen.emplace(view, static_cast<ValueId>(i));
    if (is_new) continue;
    replacement[i] = found->second;
    merged[i] = true;
    ++changes;
  }
  if (changes == 0) return 0;
  replace_uses(graph, std::move(replacement));
  compact(graph, std::vector<bool>(graph.nodes.size(), false), merged);
  return changes;
}

}  // namespace lowwater
