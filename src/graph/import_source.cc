// What a person wants to read of a node's metadata.
#include <array>
#include <string_view>
#include <unordered_set>

#include "graph/import_program.h"

namespace lowwater {
namespace {

struct Frame {
  std::string_view file, line, function;
};

// Reads `File "/a/b.py", line 8, in forward` at the start of `text`.
bool read_frame(std::string_view text, Frame& frame) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  if (!text.starts_with(kFile)) return false;
  text.remove_prefix(kFile.size());
  const std::size_t file_end = text.find(kLine);
  if (file_end == std::string_view::npos) return false;
  frame.file = text.substr(0, file_end);
  text.remove_prefix(file_end + kLine.size());
  const std::size_t line_end = text.find(kIn);
  if (line_end == std::string_view::npos) return false;
  frame.line = text.substr(0, line_end);
  frame.function = text.substr(line_end + kIn.size());
  return true;
}

bool is_pytorch(std::string_view file) {
  return file.find("/site-packages/torch/") != std::string_view::npos;
}

// "L__self__,,__main__.M;L__self___l,layer1.l,torch.nn.Linear" -> "layer1.l"
std::string_view innermost_module(std::string_view stack) {
  const std::size_t last = stack.rfind(';');
  if (last != std::string_view::npos) stack.remove_prefix(last + 1);
  const std::size_t begin = stack.find(',');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = stack.find(',', begin + 1);
  return end == std::string_view::npos ? std::string_view{}
                                       : stack.substr(begin + 1, end - begin - 1);
}

struct Prefix {
  std::string_view text, replacement;
};
// Where the exporter spells numbers computed from sizes: Python's operators,
// torch.sym_max and friends.
constexpr std::array<Prefix, 4> kScalarModules = {{{"_operator.", "sym::"},
                                                   {"math.", "sym::"},
                                                   {"torch.sym_", "sym::"},
                                                   {"torch._sym_", "sym::"}}};

}  // namespace

std::string source_line(const std::string& stack_trace, const std::string& nn_module_stack) {
  Frame frame, any, user;
  std::string_view rest = stack_trace;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (!read_frame(line, frame) || frame.file.starts_with('<')) continue;  // generated code
    any = frame;
    if (!is_pytorch(frame.file)) user = frame;
  }
  const Frame& best = user.file.empty() ? any : user;
  std::string text;
  if (!best.file.empty()) {
    const std::size_t slash = best.file.rfind('/');
    text = std::string(slash == std::string_view::npos ? best.file : best.file.substr(slash + 1)) +
           ":" + std::string(best.line) + " in " + std::string(best.function);
  }
  const std::string_view module = innermost_module(nn_module_stack);
  if (!module.empty()) text += (text.empty() ? "(" : " (") + std::string(module) + ")";
  return text;
}

std::string operator_name(const std::string& target) {
  for (const Prefix& module : kScalarModules) {
    if (!target.starts_with(module.text)) continue;
    std::string name = target.substr(module.text.size());
    if (name.ends_with('_')) name.pop_back();  // and_, or_
    return std::string(module.replacement) + name;
  }
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return target;
  std::string name = target.substr(kOps.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return target;
  name.replace(dot, 1, "::");
  constexpr std::string_view kDefault = ".default";
  if (name.ends_with(kDefault)) name.resize(name.size() - kDefault.size());
  return name;
}

namespace {

bool is_assertion(std::string_view op) {
  return op.starts_with("aten::_assert_") || op.starts_with("aten::_functional_assert_") ||
         op.starts_with("aten::sym_constrain_range") ||
         op.starts_with("aten::_functional_sym_constrain_range");
}

// Computes a number and nothing else: not needed if nobody reads it.
bool is_pure_number(std::string_view op) {
  return op.starts_with("sym::") || op.starts_with("aten::sym_") || op == "aten::item" ||
         op == "aten::_local_scalar_dense";
}

struct CollectNames {
  std::unordered_set<std::string>& read;
  void operator()(const Named& named) const { read.insert(named.name); }
  void operator()(const NamedList& list) const {
    read.insert(list.names.begin(), list.names.end());
  }
  void operator()(const NumberList& list) const {
    for (const NamedOrNumber& item : list.items) {
      if (const auto* named = std::get_if<Named>(&item)) read.insert(named->name);
    }
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

}  // namespace

void drop_assertions(ProgramGraph& graph) {
  std::unordered_set<std::string> read;
  const CollectNames collect{read};
  for (const ProgramArg& output : graph.outputs) std::visit(collect, output);
  std::vector<ProgramNode> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (is_assertion(node->op)) continue;
    bool needed = !is_pure_number(node->op);
    for (const std::string& output : node->outputs) needed = needed || read.contains(output);
    if (!needed) continue;
    for (const auto& [name, arg] : node->args) std::visit(collect, arg);
    kept.push_back(std::move(*node));
  }
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace lowwater
