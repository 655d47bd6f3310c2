// The invariants of graph.h, each checked once. A graph that is unsound in one
// place must not crash the checks of the others: every id is tested before use.
#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lowwater {
namespace {

class Linter {
 public:
  explicit Linter(const Graph& graph) : graph_(graph), defined_(graph.values.size()) {}

  std::vector<std::string> run() {
    check_values();
    check_inputs();
    check_nodes();
    check_outputs();
    check_structure(graph_.input_structure, graph_.inputs.size(), "input");
    check_structure(graph_.output_structure, user_outputs_, "output");
    return std::move(violations_);
  }

 private:
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    violations_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] bool is_value(ValueId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size();
  }

  void check_values() {
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.name.empty()) report("value {} has no name", i);
      if (!names.insert(value.name).second) report("two values are called %{}", value.name);
      check_type(value);
      if (value.kind != ValueKind::node) {
        defined_[i] = true;
        if (value.producer != kNone)
          report("%{} has a producer but is no node's output", value.name);
        if (value.kind == ValueKind::weight && value.index < 0) {
          report("%{} is a weight without a WeightId", value.name);
        }
        if (value.kind == ValueKind::input) check_input_value(static_cast<ValueId>(i));
      } else {
        check_producer(static_cast<ValueId>(i));
      }
    }
  }

  void check_type(const Value& value) {
    const Type& type = value.type;
    if (type.kind != TypeKind::tensor) {
      if (!type.sizes.empty() || !type.strides.empty())
        report("%{} is a number with sizes", value.name);
      return;
    }
    if (!type.strides.empty() && type.strides.size() != type.sizes.size()) {
      report("%{} has {} sizes but {} strides", value.name, type.sizes.size(), type.strides.size());
    }
    Bytes bytes = element_size(type.dtype);
    for (const std::int64_t size : type.sizes) {
      if (size < 0) {
        report("%{} has the negative size {}", value.name, size);
        return;
      }
      if (__builtin_mul_overflow(bytes, size, &bytes)) {
        report("%{} has more bytes than fit in 63 bits", value.name);
        return;
      }
    }
  }

  void check_input_value(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.index < 0 || static_cast<std::size_t>(value.index) >= graph_.inputs.size() ||
        graph_.inputs[static_cast<std::size_t>(value.index)].value != id) {
      report("%{} is input {} but that input is another", value.name, value.index);
    }
  }

  void check_producer(ValueId id) {
    const Value& value = graph_.value(id);
    const bool known =
        value.producer >= 0 && static_cast<std::size_t>(value.producer) < graph_.nodes.size();
    if (known) {
      const std::vector<ValueId>& outputs = graph_.node(value.producer).outputs;
      const auto index = static_cast<std::size_t>(value.index);
      if (value.index >= 0 && index < outputs.size() && outputs[index] == id) return;
    }
    report("%{} is output {} of node {} but that is another", value.name, value.index,
           value.producer);
  }

  void check_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Input& input = graph_.inputs[i];
      if (input.value == kNone) {
        for_each_ref(input.constant, [&](const Ref&) {
          report("input {} is a constant that refers to a value", i);
        });
      } else if (!is_value(input.value) || graph_.value(input.value).kind != ValueKind::input ||
                 graph_.value(input.value).index != static_cast<std::int32_t>(i)) {
        report("input {} does not name its value", i);
      }
    }
  }

  // `what` finishes the sentence "node 3 (aten::relu) <what>".
  template <typename... Args>
  void report_node(std::size_t node, fmt::format_string<Args...> format, Args&&... args) {
    violations_.push_back(fmt::format("node {} ({}) {}", node, graph_.nodes[node].op,
                                      fmt::format(format, std::forward<Args>(args)...)));
  }

  void check_nodes() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.op.empty()) report("node {} has no operator", i);
      if (!node.barrier && writes_by_name(node.op)) {
        report_node(i, "writes its operand but is not a barrier");
      }
      if (node.source != kNone &&
          (node.source < 0 || static_cast<std::size_t>(node.source) >= graph_.sources.size())) {
        report_node(i, "has the unknown source {}", node.source);
      }
      for (const Arg& arg : node.args) check_arg(i, arg);
      check_guard(i, node);
      for (const ValueId output : node.outputs) {
        if (output == kNone) continue;
        if (!is_value(output)) {
          report_node(i, "has the unknown output {}", output);
          continue;
        }
        const Value& value = graph_.value(output);
        if (value.kind != ValueKind::node || value.producer != static_cast<NodeId>(i)) {
          report_node(i, "has the output %{} that another defines", value.name);
        }
        defined_[static_cast<std::size_t>(output)] = true;
      }
    }
  }

  // "aten::relu_", "aten::add_.Tensor", but not "aten::__and__.Tensor".
  static bool writes_by_name(const std::string& op) {
    const std::size_t space = op.rfind("::");
    const std::string base = op.substr(space == std::string::npos ? 0 : space + 2);
    const std::string name = base.substr(0, base.find('.'));
    return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
  }

  void check_read(std::size_t node, ValueId id) {
    if (!is_value(id)) {
      report_node(node, "reads the unknown value {}", id);
    } else if (!defined_[static_cast<std::size_t>(id)]) {
      report_node(node, "reads %{} before it is defined", graph_.value(id).name);
    }
  }

  void check_arg(std::size_t node, const Arg& arg) {
    for_each_ref(arg, [&](const Ref& ref) { check_read(node, ref.id); });
    const auto* mixed = std::get_if<MixedInts>(&arg);
    if (mixed == nullptr) return;
    if (mixed->values.size() != mixed->refs.size()) {
      report_node(node, "has {} integers but {} references in one list", mixed->values.size(),
                  mixed->refs.size());
    }
    for (const Ref& ref : mixed->refs) {
      if (is_value(ref.id) && graph_.value(ref.id).type.kind != TypeKind::integer) {
        report_node(node, "has %{} in a list of integers", graph_.value(ref.id).name);
      }
    }
  }

  void check_guard(std::size_t i, const Node& node) {
    if (node.guard == kNone) return;
    check_read(i, node.guard);
    if (!is_value(node.guard)) return;
    // A predicate may also be a boolean tensor of one element, as torch.cond takes it.
    const Type& type = graph_.value(node.guard).type;
    const bool tensor = type.kind == TypeKind::tensor && type.dtype == DType::boolean;
    if (type.kind != TypeKind::boolean && !tensor) {
      report_node(i, "has the guard %{} that is not boolean", graph_.value(node.guard).name);
    }
  }

  void check_outputs() {
    bool mutations = false;
    std::unordered_set<std::int64_t> targets;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Output& output = graph_.outputs[i];
      if (output.kind == OutputKind::user) {
        ++user_outputs_;
        if (mutations) report("output {} of the user stands after a mutation", i);
      } else {
        mutations = true;
        check_mutation(i, output);
        const std::int64_t kind = output.kind == OutputKind::buffer_mutation ? 0 : 1;
        if (!targets.insert(2 * std::int64_t{output.target} + kind).second) {
          report("output {} mutates what another output mutates", i);
        }
      }
      if (const auto* ref = std::get_if<Ref>(&output.value)) {
        if (!is_value(ref->id)) report("output {} is the unknown value {}", i, ref->id);
      } else {
        for_each_ref(output.value, [&](const Ref&) { report("output {} is a list of values", i); });
      }
    }
  }

  void check_mutation(std::size_t i, const Output& output) {
    if (!std::holds_alternative<Ref>(output.value)) report("output {} mutates by a constant", i);
    const bool in_range =
        output.kind == OutputKind::buffer_mutation ? output.target >= 0 : is_input(output.target);
    if (!in_range) report("output {} mutates the unknown target {}", i, output.target);
  }

  [[nodiscard]] bool is_input(std::int32_t position) const {
    return position >= 0 && static_cast<std::size_t>(position) < graph_.inputs.size() &&
           graph_.inputs[static_cast<std::size_t>(position)].value != kNone;
  }

  void check_structure(const Structure& structure, std::size_t count, const char* which) {
    std::int32_t next = 0;
    if (!leaves_in_order(structure, &next)) {
      report("the {} structure is malformed or does not number its leaves in order", which);
    } else if (static_cast<std::size_t>(next) != count) {
      report("the {} structure has {} leaves for {} {}s", which, next, count, which);
    }
  }

  static bool leaves_in_order(const Structure& structure, std::int32_t* next) {
    const bool dict = structure.kind == Structure::Kind::dict;
    if (structure.keys.size() != (dict ? structure.children.size() : 0)) return false;
    if (structure.kind == Structure::Kind::leaf) {
      return structure.children.empty() && structure.leaf == (*next)++;
    }
    for (const Structure& child : structure.children) {
      if (!leaves_in_order(child, next)) return false;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<bool> defined_;  // by ValueId, as the walk proceeds
  std::size_t user_outputs_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> lint(const Graph& graph) { return Linter(graph).run(); }

}  // namespace lowwater
