// Random graphs, sound but senseless, print and parse back to equal ones.
#include "graph/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <string>

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

// Draws from rapidcheck step by step, so that failures shrink.
class GraphMaker {
 public:
  Graph make() {
    const int inputs = *rc::gen::inRange(0, 4);
    for (int i = 0; i < inputs; ++i) add_input();
    const int weights = *rc::gen::inRange(0, 3);
    for (int i = 0; i < weights; ++i) add_weight(i);
    const int nodes = *rc::gen::inRange(0, 6);
    for (int i = 0; i < nodes; ++i) add_node();
    add_outputs();
    graph_.input_structure = structure(graph_.inputs.size());
    return std::move(graph_);
  }

 private:
  std::string name() {
    // Distinct by the number; the rest may be anything.
    const auto odd = *rc::gen::arbitrary<std::string>();
    const bool plain = *rc::gen::arbitrary<bool>();
    return (plain ? std::string("v") : odd) + std::to_string(graph_.values.size());
  }

  static double real() { return std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>()); }

  static Ints ints(std::int64_t low, std::int64_t high) {
    return *rc::gen::container<Ints>(rc::gen::inRange(low, high));
  }

  Type type() {
    Type type;
    type.kind =
        static_cast<TypeKind>(*rc::gen::weightedElement<int>({{6, 0}, {1, 1}, {1, 2}, {1, 3}}));
    type.dynamic = *rc::gen::arbitrary<bool>();
    if (type.kind != TypeKind::tensor) return type;
    type.dtype = static_cast<DType>(*rc::gen::inRange(0, 18));
    type.sizes = ints(0, 5);
    if (type.sizes.size() > 6) type.sizes.resize(6);
    type.strides = row_major_strides(type.sizes);
    const int form = *rc::gen::inRange(0, 4);
    if (form == 0) std::reverse(type.strides.begin(), type.strides.end());
    if (form == 1) type.strides.clear();
    return type;
  }

  ValueId value(ValueKind kind, std::int32_t index) {
    Value made;
    made.name = name();
    made.kind = kind;
    made.type = type();
    made.index = index;
    return graph_.add_value(std::move(made));
  }

  void add_input() {
    Input input;
    if (*rc::gen::inRange(0, 4) == 0) {
      input.constant = literal();
    } else {
      input.value = value(ValueKind::input, static_cast<std::int32_t>(graph_.inputs.size()));
      input.name = graph_.value(input.value).name;
    }
    if (*rc::gen::arbitrary<bool>()) input.name = *rc::gen::arbitrary<std::string>();
    graph_.inputs.push_back(std::move(input));
  }

  void add_weight(int id) { value(ValueKind::weight, id); }

  Ref reference() {
    if (graph_.values.empty()) return Ref{};
    return Ref{*rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(graph_.values.size()))};
  }

  // A value of the given kind, absent if there is none.
  Ref reference(TypeKind kind) {
    std::vector<Ref> found = {Ref{}};
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].type.kind == kind) found.push_back({static_cast<std::int32_t>(i)});
    }
    return *rc::gen::elementOf(found);
  }

  Arg literal() {
    switch (*rc::gen::inRange(0, 14)) {
      case 0:
        return std::monostate();
      case 1:
        return *rc::gen::arbitrary<bool>();
      case 2:
        return *rc::gen::arbitrary<std::int64_t>();
      case 3:
        return real();
      case 4:
        return std::complex<double>(real(), real());
      case 5:
        return *rc::gen::arbitrary<std::string>();
      case 6:
        return static_cast<DType>(*rc::gen::inRange(0, 18));
      case 7:
        return static_cast<MemoryFormat>(*rc::gen::inRange(0, 4));
      case 8:
        return Layout::strided;
      case 9:
        return static_cast<DeviceArg>(*rc::gen::inRange(0, 2));
      case 10:
        return *rc::gen::arbitrary<std::vector<bool>>();
      case 11:
        return *rc::gen::arbitrary<Ints>();
      case 12:
        return std::vector<double>(static_cast<std::size_t>(*rc::gen::inRange(0, 3)), real());
      default:
        return wrapped();
    }
  }

  static WrappedNumber wrapped() {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        return {*rc::gen::arbitrary<bool>()};
      case 1:
        return {*rc::gen::arbitrary<std::int64_t>()};
      case 2:
        return {real()};
      default:
        return {std::complex<double>(real(), real())};
    }
  }

  Arg argument() {
    const int count = *rc::gen::inRange(0, 4);
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        return reference();
      case 2: {
        RefList list;
        for (int i = 0; i < count; ++i) {
          list.refs.push_back(*rc::gen::arbitrary<bool>() ? Ref{} : reference());
        }
        return list;
      }
      case 3: {
        MixedInts list;
        for (int i = 0; i < count; ++i) {
          list.values.push_back(*rc::gen::arbitrary<std::int64_t>());
          list.refs.push_back(reference(TypeKind::integer));
        }
        return list;
      }
      default:
        return literal();
    }
  }

  void add_node() {
    Node node;
    node.op = *rc::gen::element<std::string>("aten::relu", "sym::add.x", "odd op", "return", "a_b");
    const int args = *rc::gen::inRange(0, 4);
    for (int i = 0; i < args; ++i) node.args.push_back(argument());
    node.guard = reference(TypeKind::boolean).id;
    node.guard_when = node.guard == kNone || *rc::gen::arbitrary<bool>();
    node.barrier = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) {
      graph_.sources.push_back(*rc::gen::arbitrary<std::string>());
      node.source = static_cast<SourceId>(graph_.sources.size() - 1);
    }
    const int outputs = *rc::gen::inRange(0, 4);
    for (int i = 0; i < outputs; ++i) {
      node.outputs.push_back(*rc::gen::inRange(0, 3) == 0 ? kNone : value(ValueKind::node, 0));
    }
    graph_.add_node(std::move(node));
  }

  void add_outputs() {
    const int users = *rc::gen::inRange(0, 4);
    for (int i = 0; i < users; ++i) {
      const Ref ref = reference();
      graph_.outputs.push_back({OutputKind::user, ref.id >= 0 ? Arg(ref) : literal(), kNone});
    }
    graph_.output_structure = structure(static_cast<std::size_t>(users));
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].value == kNone || *rc::gen::arbitrary<bool>()) continue;
      graph_.outputs.push_back(
          {OutputKind::input_mutation, reference(), static_cast<std::int32_t>(i)});
    }
    if (!graph_.values.empty() && *rc::gen::arbitrary<bool>()) {
      graph_.outputs.push_back({OutputKind::buffer_mutation, reference(), *rc::gen::inRange(0, 9)});
    }
  }

  // A random nesting with `count` leaves, numbered in order.
  Structure structure(std::size_t count) {
    std::int32_t next = 0;
    return container(count, next);
  }
  Structure container(std::size_t count, std::int32_t& next) {
    Structure made;
    const int kind = *rc::gen::inRange(0, 4);
    if (count == 1 && kind == 0) {
      made.leaf = next++;
      return made;
    }
    made.kind = static_cast<Structure::Kind>(*rc::gen::inRange(1, 4));
    while (count > 0) {
      const auto part = *rc::gen::inRange<std::size_t>(1, count + 1);
      count -= part;
      made.children.push_back(container(part, next));
      if (made.kind == Structure::Kind::dict) {
        made.keys.push_back(*rc::gen::arbitrary<std::string>());
      }
    }
    return made;
  }

  Graph graph_;
};

RC_GTEST_PROP(TextProperty, RandomGraphsSurviveTheRoundTrip, ()) {
  const Graph graph = GraphMaker().make();
  RC_ASSERT(lint(graph) == std::vector<std::string>{});
  const std::string text = print_graph(graph);
  Graph again;
  try {
    again = parse_graph(text);
  } catch (const std::exception& error) {
    RC_FAIL(std::string(error.what()) + "\n" + text);
  }
  RC_ASSERT(first_difference(graph, again) == "");
  RC_ASSERT(print_graph(again) == text);
}

}  // namespace
}  // namespace lowwater
