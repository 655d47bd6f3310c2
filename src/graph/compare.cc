// Equality of graphs up to the numbering of values and sources.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "graph/graph.h"

namespace lowwater {
namespace {

// Two NaNs are the same argument, 0.0 and -0.0 are not.
bool same_real(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}
bool same_complex(const std::complex<double>& a, const std::complex<double>& b) {
  return same_real(a.real(), b.real()) && same_real(a.imag(), b.imag());
}

class Comparer {
 public:
  Comparer(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  std::string run() {
    for (std::size_t i = 0; i < b_.values.size(); ++i) {
      ids_.emplace(b_.values[i].name, static_cast<ValueId>(i));
    }
    if (a_.values.size() != b_.values.size()) return "the numbers of values differ";
    if (a_.nodes.size() != b_.nodes.size()) return "the numbers of nodes differ";
    if (a_.inputs.size() != b_.inputs.size()) return "the numbers of inputs differ";
    if (a_.outputs.size() != b_.outputs.size()) return "the numbers of outputs differ";
    for (std::size_t i = 0; i < a_.values.size(); ++i) {
      if (!same_value(a_.values[i])) return fmt::format("value %{} differs", a_.values[i].name);
    }
    for (std::size_t i = 0; i < a_.nodes.size(); ++i) {
      if (!same_node(a_.nodes[i], b_.nodes[i])) {
        return fmt::format("node {} ({}) differs", i, a_.nodes[i].op);
      }
    }
    for (std::size_t i = 0; i < a_.inputs.size(); ++i) {
      const Input& x = a_.inputs[i];
      const Input& y = b_.inputs[i];
      if (x.name != y.name || !same_id(x.value, y.value) || !same_arg(x.constant, y.constant)) {
        return fmt::format("input {} differs", i);
      }
    }
    for (std::size_t i = 0; i < a_.outputs.size(); ++i) {
      const Output& x = a_.outputs[i];
      const Output& y = b_.outputs[i];
      if (x.kind != y.kind || x.target != y.target || !same_arg(x.value, y.value)) {
        return fmt::format("output {} differs", i);
      }
    }
    if (!(a_.input_structure == b_.input_structure)) return "the input structures differ";
    if (!(a_.output_structure == b_.output_structure)) return "the output structures differ";
    return {};
  }

 private:
  [[nodiscard]] bool same_id(ValueId a, ValueId b) const {
    if (a < 0 || b < 0) return a < 0 && b < 0;
    const auto found = ids_.find(a_.value(a).name);
    return found != ids_.end() && found->second == b;
  }

  [[nodiscard]] bool same_value(const Value& x) const {
    const auto found = ids_.find(x.name);
    if (found == ids_.end()) return false;
    const Value& y = b_.value(found->second);
    return x.kind == y.kind && x.type == y.type && x.producer == y.producer && x.index == y.index;
  }

  [[nodiscard]] bool same_refs(const std::vector<Ref>& x, const std::vector<Ref>& y) const {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!same_id(x[i].id, y[i].id)) return false;
    }
    return true;
  }

  [[nodiscard]] bool same_arg(const Arg& x, const Arg& y) const {
    if (x.index() != y.index()) return false;
    return std::visit(
        [&](const auto& left) { return same(left, std::get<std::decay_t<decltype(left)>>(y)); }, x);
  }

  [[nodiscard]] bool same(const Ref& x, const Ref& y) const { return same_id(x.id, y.id); }
  [[nodiscard]] bool same(const RefList& x, const RefList& y) const {
    return same_refs(x.refs, y.refs);
  }
  [[nodiscard]] bool same(const MixedInts& x, const MixedInts& y) const {
    return x.values == y.values && same_refs(x.refs, y.refs);
  }
  [[nodiscard]] bool same(const WrappedNumber& x, const WrappedNumber& y) const {
    if (x.value.index() != y.value.index()) return false;
    return std::visit(
        [&](const auto& left) {
          return same(left, std::get<std::decay_t<decltype(left)>>(y.value));
        },
        x.value);
  }
  [[nodiscard]] bool same(double x, double y) const { return same_real(x, y); }
  [[nodiscard]] bool same(const std::complex<double>& x, const std::complex<double>& y) const {
    return same_complex(x, y);
  }
  [[nodiscard]] bool same(const std::vector<double>& x, const std::vector<double>& y) const {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!same_real(x[i], y[i])) return false;
    }
    return true;
  }
  template <typename T>
  [[nodiscard]] bool same(const T& x, const T& y) const {
    return x == y;
  }

  [[nodiscard]] bool same_node(const Node& x, const Node& y) const {
    if (x.op != y.op || x.args.size() != y.args.size() || x.outputs.size() != y.outputs.size() ||
        x.barrier != y.barrier || !same_id(x.guard, y.guard) ||
        (x.guard != kNone && x.guard_when != y.guard_when) || source(a_, x) != source(b_, y)) {
      return false;
    }
    for (std::size_t i = 0; i < x.args.size(); ++i) {
      if (!same_arg(x.args[i], y.args[i])) return false;
    }
    for (std::size_t i = 0; i < x.outputs.size(); ++i) {
      if (!same_id(x.outputs[i], y.outputs[i])) return false;
    }
    return true;
  }

  static std::string source(const Graph& graph, const Node& node) {
    return node.source == kNone ? std::string()
                                : "@" + graph.sources[static_cast<std::size_t>(node.source)];
  }

  const Graph& a_;
  const Graph& b_;
  std::unordered_map<std::string, ValueId> ids_;  // of b, by name
};

}  // namespace

std::string first_difference(const Graph& a, const Graph& b) { return Comparer(a, b).run(); }

}  // namespace lowwater
