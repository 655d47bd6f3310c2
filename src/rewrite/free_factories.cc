#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "rewrite/rewrite.h"

namespace lowwater {
namespace {

// new_zeros(x, size) looks at nothing of x but its type, which is known here.
struct Factory {
  std::string_view op, plain;
  int fill = -1;   // which argument is the number to fill with
  int device = 0;  // which argument is the device
};

constexpr std::array<Factory, 6> kFactories = {{
    {"aten::new_zeros", "aten::zeros", -1, 4},
    {"aten::new_ones", "aten::ones", -1, 4},
    {"aten::new_full", "aten::full", 2, 5},
    {"aten::zeros_like", "aten::zeros", -1, 3},
    {"aten::ones_like", "aten::ones", -1, 3},
    {"aten::full_like", "aten::full", 1, 4},
}};

bool is_row_major(const Type& type) {
  return type.strides.empty() || type.strides == row_major_strides(type.sizes);
}

// On the plan's device, as the operand is.
bool stays_on_device(const Node& node, const Factory& factory) {
  const auto index = static_cast<std::size_t>(factory.device);
  if (index >= node.args.size()) return true;
  const auto* device = std::get_if<DeviceArg>(&node.args[index]);
  return device == nullptr || *device == DeviceArg::plan_device;
}

}  // namespace

int free_factories(Graph& graph, const RewriteContext&) {
  int changes = 0;
  for (Node& node : graph.nodes) {
    const auto* factory = std::find_if(kFactories.begin(), kFactories.end(),
                                       [&](const Factory& row) { return row.op == node.op; });
    if (factory == kFactories.end() || node.outputs.size() != 1 || node.outputs[0] == kNone)
      continue;
    const Type& type = graph.value(node.outputs[0]).type;
    if (type.dynamic || !is_row_major(type) || !stays_on_device(node, *factory)) continue;
    // zeros(size, *, dtype, layout, device, pin_memory); full has the number behind the size.
    std::vector<Arg> args = {type.sizes};
    if (factory->fill >= 0) args.push_back(node.args.at(static_cast<std::size_t>(factory->fill)));
    const std::monostate none;
    for (const Arg& arg : {Arg(type.dtype), Arg(none), Arg(DeviceArg::plan_device), Arg(none)}) {
      args.push_back(arg);
    }
    node.op = factory->plain;
    node.args = std::move(args);
    ++changes;
  }
  return changes;
}

}  // namespace lowwater
