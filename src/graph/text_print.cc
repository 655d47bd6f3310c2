#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "graph/text.h"
#include "graph/text_names.h"

namespace lowwater {
namespace {

// The shortest text that reads back as the same double; always looks like one.
std::string print_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

template <typename List, typename Print>
std::string joined(const List& list, Print&& print) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    out += print(i);
  }
  return out;
}

std::string print_ints(const std::vector<std::int64_t>& list) {
  std::string out;
  for (const std::int64_t item : list) {
    if (!out.empty()) out += ',';
    out += std::to_string(item);
  }
  return out;
}

std::string print_value(const Graph& graph, ValueId id) {
  if (id < 0) return "absent";
  // Only an unsound graph gets here; printing helps to see what is wrong.
  if (static_cast<std::size_t>(id) >= graph.values.size())
    return fmt::format("%\"unknown {}\"", id);
  const std::string& name = graph.value(id).name;
  return "%" + (is_plain_name(name) ? name : quoted(name));
}

class ArgPrinter {
 public:
  explicit ArgPrinter(const Graph& graph) : graph_(graph) {}

  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return print_real(value); }
  std::string operator()(const std::complex<double>& value) const {
    return "complex(" + print_real(value.real()) + ", " + print_real(value.imag()) + ")";
  }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(DType value) const { return std::string(dtype_name(value)); }
  std::string operator()(MemoryFormat value) const { return std::string(word_of(value)); }
  std::string operator()(Layout value) const { return std::string(word_of(value)); }
  std::string operator()(DeviceArg value) const { return std::string(word_of(value)); }
  std::string operator()(const Ref& ref) const { return print_value(graph_, ref.id); }

  std::string operator()(const RefList& list) const {
    const std::string items = joined(list.refs, [&](std::size_t i) { return item(list.refs[i]); });
    return list.refs.empty() ? "refs[]" : "[" + items + "]";
  }
  // An item is a number, or a value with the number that it overrides: %n=8.
  std::string operator()(const MixedInts& list) const {
    return "mixed[" +
           joined(list.values,
                  [&](std::size_t i) {
                    const std::string number = std::to_string(list.values[i]);
                    const bool known = i >= list.refs.size() || list.refs[i].id < 0;
                    return known ? number : print_value(graph_, list.refs[i].id) + "=" + number;
                  }) +
           "]";
  }
  std::string operator()(const WrappedNumber& number) const {
    return "number(" + std::visit(*this, number.value) + ")";
  }
  std::string operator()(const std::vector<bool>& list) const {
    const std::string items =
        joined(list, [&](std::size_t i) { return std::string(list[i] ? "True" : "False"); });
    return list.empty() ? "bools[]" : "[" + items + "]";
  }
  std::string operator()(const std::vector<std::int64_t>& list) const {
    return "[" + print_ints(list) + "]";
  }
  std::string operator()(const std::vector<double>& list) const {
    const std::string items = joined(list, [&](std::size_t i) { return print_real(list[i]); });
    return list.empty() ? "reals[]" : "[" + items + "]";
  }

 private:
  [[nodiscard]] std::string item(const Ref& ref) const {
    return ref.id < 0 ? "None" : print_value(graph_, ref.id);
  }

  const Graph& graph_;
};

std::string print_structure(const Structure& structure) {
  const auto child = [&](std::size_t i) { return print_structure(structure.children[i]); };
  switch (structure.kind) {
    case Structure::Kind::leaf:
      return std::to_string(structure.leaf);
    case Structure::Kind::tuple:
      return "(" + joined(structure.children, child) + ")";
    case Structure::Kind::list:
      return "[" + joined(structure.children, child) + "]";
    case Structure::Kind::dict:
      break;
  }
  return "{" +
         joined(structure.children,
                [&](std::size_t i) { return quoted(structure.keys[i]) + ": " + child(i); }) +
         "}";
}

// %x: f32[2]      %x "batch.image": f32[2]      "flag" = True
std::string print_input(const Graph& graph, const Input& input) {
  if (input.value == kNone) return quoted(input.name) + " = " + print_arg(graph, input.constant);
  const Value& value = graph.value(input.value);
  const std::string name = input.name == value.name ? "" : " " + quoted(input.name);
  return print_value(graph, input.value) + name + ": " + print_type(value.type);
}

std::string print_signature(const Graph& graph) {
  std::string out;
  const auto add = [&](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
  for (const Input& input : graph.inputs) add(print_input(graph, input));
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.kind != ValueKind::weight) continue;
    add(fmt::format("{}: weight {} {}", print_value(graph, static_cast<ValueId>(i)), value.index,
                    print_type(value.type)));
  }
  return "graph(" + out + "):\n";
}

std::string print_output(const Graph& graph, const Output& output) {
  const std::string value = print_arg(graph, output.value);
  switch (output.kind) {
    case OutputKind::buffer_mutation:
      return fmt::format("weight {} = {}", output.target, value);
    case OutputKind::input_mutation:
      return fmt::format("input {} = {}", output.target, value);
    case OutputKind::user:
      break;
  }
  return value;
}

std::size_t user_outputs(const Graph& graph) {
  std::size_t count = 0;
  for (const Output& output : graph.outputs) count += output.kind == OutputKind::user ? 1 : 0;
  return count;
}

}  // namespace

std::string print_type(const Type& type) {
  std::string out;
  switch (type.kind) {
    case TypeKind::integer:
      out = "int";
      break;
    case TypeKind::real:
      out = "real";
      break;
    case TypeKind::boolean:
      out = "bool";
      break;
    case TypeKind::tensor:
      out = fmt::format("{}[{}]", dtype_name(type.dtype), print_ints(type.sizes));
      if (type.strides != row_major_strides(type.sizes)) {
        out += "{" + print_ints(type.strides) + "}";
      }
  }
  return type.dynamic ? out + " dynamic" : out;
}

std::string print_arg(const Graph& graph, const Arg& arg) {
  return std::visit(ArgPrinter(graph), arg);
}

std::string print_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string out = joined(node.outputs, [&](std::size_t i) {
    const ValueId output = node.outputs[i];
    if (output == kNone) return std::string("_");
    return print_value(graph, output) + ": " + print_type(graph.value(output).type);
  });
  if (!out.empty()) out += " = ";
  out += is_plain_op(node.op) ? node.op : quoted(node.op);
  out +=
      "(" + joined(node.args, [&](std::size_t i) { return print_arg(graph, node.args[i]); }) + ")";
  if (node.guard != kNone) {
    out += (node.guard_when ? " if " : " if not ") + print_value(graph, node.guard);
  }
  if (node.barrier) out += " barrier";
  if (node.source != kNone)
    out += " @" + quoted(graph.sources[static_cast<std::size_t>(node.source)]);
  return out;
}

std::string print_graph(const Graph& graph) {
  std::string out = print_signature(graph);
  if (graph.input_structure != flat_input_structure(graph.inputs.size())) {
    out += "  inputs " + print_structure(graph.input_structure) + "\n";
  }
  if (graph.output_structure != flat_output_structure(user_outputs(graph))) {
    out += "  outputs " + print_structure(graph.output_structure) + "\n";
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    out += "  " + print_node(graph, static_cast<NodeId>(i)) + "\n";
  }
  out +=
      "  return (" +
      joined(graph.outputs, [&](std::size_t i) { return print_output(graph, graph.outputs[i]); }) +
      ")\n";
  return out;
}

}  // namespace lowwater
