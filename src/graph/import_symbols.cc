#include "graph/import_symbols.h"

#include <fmt/format.h>

#include <limits>

#include "lowwater/error.h"

namespace lowwater {
namespace {

// One size of one input that is not a plain number.
struct Equation {
  std::size_t input = 0, dim = 0;
  const Expr* expr = nullptr;
  std::int64_t given = 0;
};

class Binder {
 public:
  Binder(const ProgramDescription& program, const InputShapes& shapes)
      : program_(program), shapes_(shapes) {}

  Bindings run() {
    bind_numbers();
    std::vector<Equation> equations = collect();
    // Each round solves what the last one made solvable: s0 first, then s0*s1.
    for (bool progress = true; progress;) {
      progress = false;
      for (const Equation& equation : equations) progress = solve(equation) || progress;
    }
    for (const Equation& equation : equations) check(equation);
    return std::move(bindings_);
  }

 private:
  // Integer inputs are not tensors: they keep the value that they had at export.
  void bind_numbers() {
    for (const auto& [name, scalar] : program_.parsed->graph.scalars) {
      const auto* index = std::get_if<std::int32_t>(&scalar.value);
      if (!index || !scalar.hint || !is_input(name)) continue;
      const Expr& expr = program_.parsed->exprs[static_cast<std::size_t>(*index)];
      if (expr.fn == Fn::symbol) bindings_[expr.symbol] = *scalar.hint;
    }
  }

  [[nodiscard]] bool is_input(const std::string& name) const {
    for (const InputSpec& spec : program_.parsed->inputs) {
      if (spec.kind == InputSpec::Kind::user && spec.name == name) return true;
    }
    return false;
  }

  [[nodiscard]] std::string place(std::size_t input, std::size_t dim) const {
    return fmt::format("input '{}', dimension {}", program_.inputs[input].name, dim);
  }

  [[noreturn]] void refuse(std::size_t input, std::size_t dim, const std::string& expected,
                           std::int64_t given) const {
    throw Error(ErrorKind::bad_input, fmt::format("the size is {}, expected {}", given, expected),
                place(input, dim));
  }

  std::vector<Equation> collect() {
    if (!shapes_.empty() && shapes_.size() != program_.inputs.size()) {
      throw Error(ErrorKind::bad_input, fmt::format("{} shapes are given for {} inputs",
                                                    shapes_.size(), program_.inputs.size()));
    }
    std::vector<Equation> equations;
    std::size_t flat = 0;
    for (const InputSpec& spec : program_.parsed->inputs) {
      if (spec.kind != InputSpec::Kind::user && spec.kind != InputSpec::Kind::constant) continue;
      const std::size_t input = flat++;
      const InputDescription& description = program_.inputs[input];
      if (!description.is_tensor) continue;
      const auto& shape = shapes_.empty() ? description.example : shapes_[input];
      if (shape.size() != description.dims.size()) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("the tensor has {} dimensions, expected {}", shape.size(),
                                description.dims.size()),
                    fmt::format("input '{}'", description.name));
      }
      collect_sizes(input, spec, shape, equations);
    }
    return equations;
  }

  void collect_sizes(std::size_t input, const InputSpec& spec,
                     const std::vector<std::int64_t>& shape,
                     std::vector<Equation>& equations) const {
    const ProgramTensor& tensor = program_.parsed->graph.tensors.at(spec.name);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      const Size& size = tensor.sizes[dim];
      if (size.expr == kNone) {
        if (shape[dim] != size.value) refuse(input, dim, std::to_string(size.value), shape[dim]);
      } else if (shape[dim] < 0) {
        refuse(input, dim, "a size of 0 or more", shape[dim]);
      } else {
        equations.push_back(
            {input, dim, &program_.parsed->exprs[static_cast<std::size_t>(size.expr)], shape[dim]});
      }
    }
  }

  bool solve(const Equation& equation) {
    const auto solution = solve_affine(*equation.expr, equation.given, bindings_);
    if (!solution) return false;
    if (!solution->fits)
      refuse(equation.input, equation.dim, expr_text(*equation.expr), equation.given);
    check_range(equation, *solution);
    bindings_[solution->symbol] = solution->value;
    origins_[solution->symbol] = place(equation.input, equation.dim);
    return true;
  }

  void check_range(const Equation& equation, const Solution& solution) const {
    const auto found = program_.symbols.find(solution.symbol);
    if (found == program_.symbols.end()) return;
    const SymbolRange& range = found->second;
    if (solution.value >= range.min && solution.value <= range.max) return;
    const std::string text = expr_text(*equation.expr);
    const std::string size =
        text == solution.symbol ? "a size" : fmt::format("{} with {}", text, solution.symbol);
    refuse(equation.input, equation.dim,
           range.max == INT64_MAX ? fmt::format("{} of at least {}", size, range.min)
                                  : fmt::format("{} between {} and {}", size, range.min, range.max),
           equation.given);
  }

  void check(const Equation& equation) const {
    const auto value = evaluate(*equation.expr, bindings_);
    const std::string text = expr_text(*equation.expr);
    if (!value) {
      throw Error(
          ErrorKind::unsupported, fmt::format("the size {} does not tell its symbols apart", text),
          place(equation.input, equation.dim), "export with one symbol for each dynamic dimension");
    }
    if (as_integer(*value) == equation.given) return;
    std::string why;
    for (const std::string& symbol : expr_symbols(*equation.expr)) {
      if (const auto origin = origins_.find(symbol); origin != origins_.end()) {
        why += fmt::format("{}{} = {} from {}", why.empty() ? "" : ", ", symbol,
                           bindings_.at(symbol), origin->second);
      }
    }
    const auto expected = as_integer(*value);
    refuse(equation.input, equation.dim,
           fmt::format("{} ({})", expected ? std::to_string(*expected) : text, why),
           equation.given);
  }

  const ProgramDescription& program_;
  const InputShapes& shapes_;
  Bindings bindings_;
  std::map<std::string, std::string> origins_;  // which size bound a symbol, for messages
};

}  // namespace

Bindings bind_symbols(const ProgramDescription& program, const InputShapes& shapes) {
  return Binder(program, shapes).run();
}

std::map<std::string, Interval64> unbound_ranges(const ProgramDescription& program,
                                                 const Bindings& bindings) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::map<std::string, Interval64> ranges;
  for (const auto& [symbol, range] : program.symbols) {
    if (bindings.contains(symbol)) continue;
    ranges[symbol] = {range.min == INT64_MIN ? -kInfinity : static_cast<double>(range.min),
                      range.max == INT64_MAX ? kInfinity : static_cast<double>(range.max)};
  }
  return ranges;
}

}  // namespace lowwater
