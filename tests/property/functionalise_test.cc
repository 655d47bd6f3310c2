// Random graphs of views and in-place operators: the functional graph computes
// what the imported one does, by an interpreter that follows aliases.
#include "graph/functionalise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <numeric>
#include <string>

#include "graph/text.h"
#include "schemas.h"

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

// Elements live in a shared storage, `at` says where, in row-major order.
struct Tensor {
  std::shared_ptr<Ints> storage;
  Ints at;
};

Tensor fresh(Ints values) {
  Tensor made{std::make_shared<Ints>(std::move(values)), {}};
  made.at.resize(made.storage->size());
  std::iota(made.at.begin(), made.at.end(), 0);
  return made;
}

Ints read(const Tensor& tensor) {
  Ints values;
  for (const std::int64_t at : tensor.at)
    values.push_back((*tensor.storage)[static_cast<std::size_t>(at)]);
  return values;
}

void write(const Tensor& tensor, const Ints& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    (*tensor.storage)[static_cast<std::size_t>(tensor.at[i])] = values[i];
  }
}

// Every tensor here has two dimensions, [rows, columns], or one.
class Interpreter {
 public:
  explicit Interpreter(const Graph& graph) : graph_(graph), values_(graph.values.size()) {}

  // The outputs' elements at the end, then those of the inputs.
  std::vector<Ints> run(std::vector<Tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) value(graph_.inputs[i].value) = inputs[i];
    for (const Node& node : graph_.nodes) step(node);
    for (const Output& output : graph_.outputs) {
      if (output.kind == OutputKind::user) continue;
      const Ints elements = read(value(std::get<Ref>(output.value).id));
      write(inputs[static_cast<std::size_t>(output.target)], elements);
    }
    std::vector<Ints> results;
    for (const Output& output : graph_.outputs) {
      if (output.kind == OutputKind::user)
        results.push_back(read(value(std::get<Ref>(output.value).id)));
    }
    for (const Tensor& input : inputs) results.push_back(read(input));
    return results;
  }

 private:
  Tensor& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  const Tensor& operand(const Node& node, std::size_t i) {
    return value(std::get<Ref>(node.args[i]).id);
  }
  const Ints& sizes(const Node& node, std::size_t i) {
    return graph_.value(std::get<Ref>(node.args[i]).id).type.sizes;
  }
  static std::int64_t number(const Node& node, std::size_t i) {
    return std::get<std::int64_t>(node.args[i]);
  }

  // Row-major positions in an operand of `sizes` that the cutting operator keeps.
  static Ints kept(const Node& node, const Ints& sizes, std::size_t first) {
    const auto dim = static_cast<std::size_t>(number(node, first));
    const bool select = node.op.find("select") != std::string::npos;
    const std::int64_t begin = number(node, first + 1),
                       end = select ? begin + 1 : number(node, first + 2);
    const std::int64_t step = select ? 1 : number(node, first + 3);
    const std::int64_t columns = sizes.size() == 2 ? sizes[1] : 1;
    Ints positions;
    for (std::int64_t i = 0; i < sizes[0] * columns; ++i) {
      const std::int64_t along = dim == 0 ? i / columns : i % columns;
      if (along >= begin && along < end && (along - begin) % step == 0) positions.push_back(i);
    }
    return positions;
  }

  static Ints transposed(const Ints& items, const Ints& sizes) {
    Ints result;
    for (std::int64_t c = 0; c < sizes[1]; ++c) {
      for (std::int64_t r = 0; r < sizes[0]; ++r) {
        result.push_back(items[static_cast<std::size_t>(r * sizes[1] + c)]);
      }
    }
    return result;
  }

  Ints compute(const Node& node, const std::string& op) {
    Ints a = read(operand(node, 0));
    if (op == "aten::copy") return read(operand(node, 1));
    if (op == "aten::add.Tensor") {
      const Ints b = read(operand(node, 1));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = (a[i] + b[i]) % 1000003;
    }
    for (std::int64_t& item : a) {
      if (op == "aten::zero") item = 0;
      if (op == "aten::neg") item = -item;
    }
    return a;
  }

  void step(const Node& node) {
    Tensor result;
    const std::string& op = node.op;
    if (op == "aten::view" || op == "aten::alias" || op == "aten::unsqueeze") {
      result = operand(node, 0);
    } else if (op == "aten::reshape") {
      result = fresh(read(operand(node, 0)));  // the functional graph's: nobody writes it
    } else if (op == "aten::t" || op == "aten::permute") {
      result = operand(node, 0);
      result.at = transposed(result.at, sizes(node, 0));
    } else if (op == "aten::slice.Tensor" || op == "aten::select.int") {
      result = {operand(node, 0).storage, {}};
      for (const std::int64_t i : kept(node, sizes(node, 0), 1)) {
        result.at.push_back(operand(node, 0).at[static_cast<std::size_t>(i)]);
      }
    } else if (op == "aten::slice_scatter" || op == "aten::select_scatter") {
      Ints base = read(operand(node, 0));
      const Ints part = read(operand(node, 1)), positions = kept(node, sizes(node, 0), 2);
      for (std::size_t i = 0; i < part.size(); ++i)
        base[static_cast<std::size_t>(positions[i])] = part[i];
      result = fresh(base);
    } else if (const std::size_t mark = op.find('_'); mark != std::string::npos) {
      result = operand(node, 0);
      write(result, compute(node, op.substr(0, mark) + op.substr(mark + 1)));
    } else {
      result = fresh(compute(node, op));
    }
    for (const ValueId output : node.outputs) {
      if (output != kNone) value(output) = result;
    }
  }

  const Graph& graph_;
  std::vector<Tensor> values_;
};

// Draws a graph line by line, with the strides that PyTorch would export.
class Maker {
 public:
  std::string make() {
    add("x", {4, 6}, {6, 1}), add("y", {4, 6}, {6, 1});
    const int count = *rc::gen::inRange(1, 16);
    for (int i = 0; i < count; ++i) line();
    std::string outputs;
    for (int i = 0; i < 3; ++i) outputs += (i > 0 ? ", %" : "%") + any().name;
    return "graph(%x: f32[4,6], %y: f32[4,6]):\n" + body_ + "  return (" + outputs + ")\n";
  }

 private:
  struct Named {
    std::string name;
    Ints sizes, strides;
  };

  void add(std::string name, Ints sizes, Ints strides) {
    values_.push_back({std::move(name), std::move(sizes), std::move(strides)});
  }
  const Named& any() { return values_[*rc::gen::inRange<std::size_t>(0, values_.size())]; }
  const Named& like(const Named& model) {
    std::vector<std::size_t> fits;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].sizes == model.sizes) fits.push_back(i);
    }
    return values_[*rc::gen::elementOf(fits)];
  }

  void define(const std::string& call, Ints sizes, Ints strides) {
    const std::string name = fmt::format("v{}", values_.size());
    Type type;
    type.sizes = sizes;
    type.strides = strides;
    body_ += fmt::format("  %{}: {} = {}\n", name, print_type(type), call);
    add(name, std::move(sizes), std::move(strides));
  }

  void line() {
    const Named a = any();
    const bool matrix = a.sizes.size() == 2;
    const auto dim = static_cast<std::size_t>(matrix ? *rc::gen::inRange(0, 2) : 0);
    switch (*rc::gen::inRange(0, 9)) {
      case 0:
        return define(fmt::format("aten::neg(%{})", a.name), a.sizes, row_major_strides(a.sizes));
      case 1:
        return define(fmt::format("aten::zero_(%{})", a.name), a.sizes, a.strides);
      case 2:
        return define(fmt::format("aten::neg_(%{})", a.name), a.sizes, a.strides);
      case 3:
        return in_place("aten::add_.Tensor(%{}, %{}, 1)", a);
      case 4:
        return in_place("aten::copy_(%{}, %{}, False)", a);
      case 5:
        return matrix ? define(fmt::format("aten::t(%{})", a.name), {a.sizes[1], a.sizes[0]},
                               {a.strides[1], a.strides[0]})
                      : define(fmt::format("aten::alias(%{})", a.name), a.sizes, a.strides);
      case 6:
        return slice(a, dim);
      case 7:
        return matrix ? select(a, dim) : slice(a, dim);
      default:
        return define(fmt::format("aten::view(%{}, [{}])", a.name, fmt::join(a.sizes, ",")),
                      a.sizes, a.strides);
    }
  }

  // Operands that share elements with the written one may be read while they change:
  // PyTorch refuses a partial overlap, so such a pair is left out here too.
  void in_place(const char* format, const Named& a) {
    const Named b = like(a);
    define(fmt::format("aten::neg(%{})", b.name), b.sizes, row_major_strides(b.sizes));
    define(fmt::format(fmt::runtime(format), a.name, values_.back().name), a.sizes, a.strides);
  }

  void slice(const Named& a, std::size_t dim) {
    const std::int64_t size = a.sizes[dim];
    const std::int64_t begin = *rc::gen::inRange<std::int64_t>(0, size);
    const std::int64_t end = *rc::gen::inRange<std::int64_t>(begin + 1, size + 1);
    const std::int64_t step = *rc::gen::inRange(1, 3);
    Ints sizes = a.sizes, strides = a.strides;
    sizes[dim] = (end - begin + step - 1) / step;
    strides[dim] *= step;
    define(fmt::format("aten::slice.Tensor(%{}, {}, {}, {}, {})", a.name, dim, begin, end, step),
           sizes, strides);
  }

  void select(const Named& a, std::size_t dim) {
    const std::int64_t at = *rc::gen::inRange<std::int64_t>(0, a.sizes[dim]);
    define(fmt::format("aten::select.int(%{}, {}, {})", a.name, dim, at), {a.sizes[1 - dim]},
           {a.strides[1 - dim]});
  }

  std::vector<Named> values_;
  std::string body_;
};

std::vector<Tensor> inputs() {
  Ints x(24), y(24);
  std::iota(x.begin(), x.end(), 1);
  std::iota(y.begin(), y.end(), 101);
  return {fresh(x), fresh(y)};
}

RC_GTEST_PROP(FunctionaliseProperty, TheSameResultsWithoutWrites, ()) {
  const std::string text = Maker().make();
  const Graph imported = parse_graph(text);
  Graph functional = imported;
  functionalise(functional, snapshot_schemas());
  RC_LOG() << text << print_graph(functional);
  RC_ASSERT(lint(functional) == std::vector<std::string>{});
  for (const Node& node : functional.nodes) RC_ASSERT(!node.barrier);
  RC_ASSERT(Interpreter(functional).run(inputs()) == Interpreter(imported).run(inputs()));
}

}  // namespace
}  // namespace lowwater
