// Step records from a small text instead of a device.
//
//   temp aten::conv2d 128       allocates the output, then 128 bytes, then frees them
//   leak aten::conv2d 128       the same, never freed
//   view aten::view             the output is a view of the first operand,
//   view aten::slice.Tensor 4   with the exported strides, 4 elements further on
//   absent aten::foo 1          output 1 is an undefined tensor
//   ms aten::conv2d 2.5
//
// Every other operator allocates its outputs, with the exported strides.
#pragma once

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/facts.h"
#include "graph/text.h"

namespace lowwater {

class FakeCosts final : public CostProvider {
 public:
  explicit FakeCosts(const std::string& rules = {}, Bytes alignment = 64) : alignment_(alignment) {
    std::istringstream lines(rules);
    for (std::string line; std::getline(lines, line);) add_rule(line);
  }

  void add_rule(const std::string& line) {
    std::istringstream words(line);
    std::string what, op;
    double number = 0;
    if (words >> what >> op) words >> number;
    if (!what.empty()) rules_[what][op] = number;
  }

  const StepRecord& record(const StepSpec& spec) override {
    std::string key = spec.key();  // plus what a record depends on here
    for (const Type& type : spec.output_types) key += " " + print_type(type);
    auto [found, is_new] = records_.try_emplace(std::move(key));
    if (is_new) found->second = make(spec);
    return found->second;
  }
  [[nodiscard]] Bytes alignment() const override { return alignment_; }

 private:
  [[nodiscard]] const double* rule(const std::string& what, const std::string& op) const {
    const auto rules = rules_.find(what);
    if (rules == rules_.end()) return nullptr;
    const auto found = rules->second.find(op);
    return found == rules->second.end() ? nullptr : &found->second;
  }

  [[nodiscard]] StepRecord make(const StepSpec& spec) const {
    StepRecord record;
    std::int32_t next = 0;
    const double* view = rule("view", spec.op);
    const double* absent = rule("absent", spec.op);
    for (std::size_t i = 0; i < spec.output_types.size(); ++i) {
      const Type& type = spec.output_types[i];
      StepOutput output{
          OutputHome::fresh, next, {type.dtype, type.sizes, type.strides, 0, type.bytes()}};
      if (output.meta.strides.size() != type.sizes.size())
        output.meta.strides = contiguous_strides(type.sizes);
      if (type.kind != TypeKind::tensor) {
        output = {OutputHome::scalar, 0, {}};
      } else if (absent != nullptr && static_cast<std::size_t>(*absent) == i) {
        output = {OutputHome::absent, 0, {}};
      } else if (view != nullptr) {
        output.home = OutputHome::alias;
        output.source = 0;
        output.meta.storage_offset =
            spec.tensors[0].storage_offset + static_cast<std::int64_t>(*view);
        output.meta.storage_bytes = spec.tensors[0].storage_bytes;
      } else {
        output.meta.storage_bytes = output.meta.extent_bytes();
        record.events.push_back({true, next++, output.meta.storage_bytes});
      }
      record.outputs.push_back(output);
    }
    add_temporary(spec.op, "temp", true, next, record);
    add_temporary(spec.op, "leak", false, next, record);
    const double* ms = rule("ms", spec.op);
    record.ms = ms != nullptr ? *ms : 1;
    return record;
  }

  void add_temporary(const std::string& op, const std::string& what, bool freed, std::int32_t& next,
                     StepRecord& record) const {
    const double* bytes = rule(what, op);
    if (bytes == nullptr) return;
    record.events.push_back({true, next, static_cast<Bytes>(*bytes)});
    if (freed) record.events.push_back({false, next, 0});
    ++next;
  }

  Bytes alignment_;
  std::map<std::string, std::map<std::string, double>> rules_;  // what, operator
  std::unordered_map<std::string, StepRecord> records_;
};

// One storage for each weight of the graph, or for the numbers in `tied`:
// weight i lives in storage tied[i].
inline WeightTable weights_of(const Graph& graph, const std::vector<StorageIndex>& tied = {}) {
  WeightTable table;
  for (const Value& value : graph.values) {
    if (value.kind != ValueKind::weight) continue;
    const auto id = static_cast<std::size_t>(value.index);
    const StorageIndex storage = id < tied.size() ? tied[id] : value.index;
    if (table.weights.size() <= id) table.weights.resize(id + 1);
    if (table.storages.size() <= static_cast<std::size_t>(storage))
      table.storages.resize(static_cast<std::size_t>(storage) + 1);
    TensorMeta meta{value.type.dtype, value.type.sizes, value.type.strides, 0, 0};
    if (meta.strides.size() != meta.sizes.size()) meta.strides = contiguous_strides(meta.sizes);
    Bytes& size = table.storages[static_cast<std::size_t>(storage)].size;
    size = std::max(size, meta.extent_bytes());
    table.weights[id] = {value.name, WeightKind::parameter, storage, meta.dtype,
                         meta.sizes, meta.strides,          0};
    table.by_name[value.name] = value.index;
  }
  return table;
}

}  // namespace lowwater
