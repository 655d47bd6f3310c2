// What is in an archive, without planning anything.
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "archive/archive.h"
#include "exec/schemas.h"
#include "graph/import.h"
#include "lowwater/session.h"
#include "session_shapes.h"

namespace lowwater {
namespace {

using nlohmann::json;

// "torch.ops.aten.add.Tensor" -> "aten::add.Tensor"; other targets as they are.
std::string operator_name(const std::string& target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  constexpr std::string_view kDefault = ".default";
  if (!target.starts_with(kPrefix)) return target;
  std::string name = target.substr(kPrefix.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return target;
  name.replace(dot, 1, "::");
  if (name.ends_with(kDefault)) name.resize(name.size() - kDefault.size());
  return name;
}

// Python's arithmetic on sizes and the operators that hold sub-graphs are
// lowwater's own business; all else must be in PyTorch.
bool is_known(const std::string& name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string::npos || name.starts_with("higher_order::")) return true;
  const std::size_t dot = name.find('.', colons);
  const c10::OperatorName op(name.substr(0, dot),
                             dot == std::string::npos ? "" : name.substr(dot + 1));
  return c10::Dispatcher::singleton().findSchema(op).has_value();
}

// Counts the nodes of a graph and of the graphs that its arguments hold.
void count_nodes(const json& graph, std::map<std::string, int>& counts) {
  for (const json& node : graph.value("nodes", json::array())) {
    ++counts[operator_name(node.value("target", ""))];
    for (const json& input : node.value("inputs", json::array())) {
      const json& arg = input.value("arg", json::object());
      if (arg.is_object() && arg.contains("as_graph"))
        count_nodes(arg["as_graph"].value("graph", json::object()), counts);
    }
  }
}

void add_operators(ArchiveInfo& info, const std::string& program_json) {
  std::map<std::string, int> counts;
  const json program = json::parse(program_json);
  count_nodes(program.at("graph_module").at("graph"), counts);
  for (const auto& [name, nodes] : counts) {
    info.operators.push_back({name, nodes, is_known(name)});
    info.nodes += nodes;
  }
  std::stable_sort(info.operators.begin(), info.operators.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
}

void add_weights(ArchiveInfo& info, const WeightTable& table) {
  std::set<std::tuple<StorageIndex, std::int64_t, std::vector<std::int64_t>>> seen;
  for (const Weight& weight : table.weights) {
    if (weight.kind == WeightKind::parameter) ++info.parameters;
    if (weight.kind == WeightKind::buffer) ++info.buffers;
    if (weight.kind == WeightKind::constant) ++info.constants;
    if (!seen.emplace(weight.storage, weight.storage_offset, weight.sizes).second) continue;
    std::int64_t elements = 1;
    for (const std::int64_t size : weight.sizes) elements *= size;
    info.weight_elements += elements;
  }
  info.weight_bytes = table.total_bytes();
}

// The outputs' types are known once the program is bound to sizes: those at
// export. Where inputs have symbolic sizes, only the outputs' rank is told. A
// model that cannot be imported can be inspected all the same.
void add_output_types(ArchiveInfo& info, const ProgramDescription& program,
                      const WeightTable& weights) {
  try {
    fill_output_types(info.outputs, import_graph(program, weights, dump_schemas(), InputShapes{}));
  } catch (const Error&) {
    return;
  }
  const bool fixed =
      std::all_of(program.inputs.begin(), program.inputs.end(), [](const InputDescription& input) {
        return std::find(input.dims.begin(), input.dims.end(), -1) == input.dims.end();
      });
  if (fixed) return;
  for (IoDescription& output : info.outputs) {
    output.symbols.assign(output.sizes.size(), "?");
    output.sizes.assign(output.sizes.size(), -1);
  }
}

}  // namespace

ArchiveInfo inspect(const std::string& path, const std::string& model, bool check) {
  const Archive archive = Archive::open(path, model);
  const ProgramDescription program = parse_program(archive.program_json());
  ArchiveInfo info;
  info.path = path;
  info.model = archive.model();
  info.torch_version = program.torch_version;
  info.schema_version =
      std::to_string(program.schema_major) + "." + std::to_string(program.schema_minor);
  info.inputs = describe_inputs(program);
  info.outputs = describe_outputs(program);
  add_operators(info, archive.program_json());
  add_weights(info, archive.weights());
  add_output_types(info, program, archive.weights());
  info.file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (check) info.corrupt = archive.check_all();
  return info;
}

}  // namespace lowwater
