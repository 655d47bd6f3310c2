// Types of values: sizes are evaluated; sizes that depend on data are replaced
// by their upper bounds.
#include <algorithm>
#include <cmath>

#include "graph/import_builder.h"

namespace lowwater {
namespace {

constexpr double kLargestSize = 0x1p53;  // exact in a double, far beyond any memory

const Expr& expr_of(const Importer& importer, std::int32_t index) {
  return importer.program.exprs[static_cast<std::size_t>(index)];
}

bool is_dynamic(const Importer& importer, const Size& size) {
  return size.expr != kNone && !evaluate(expr_of(importer, size.expr), importer.symbols);
}

// The exact size, or the largest that it can be.
std::int64_t size_bound(const Importer& importer, const Size& size, const std::string& place) {
  if (size.expr == kNone) return size.value;
  const Expr& expr = expr_of(importer, size.expr);
  if (const auto known = evaluate(expr, importer.symbols)) {
    if (const auto integer = as_integer(*known)) return *integer;
    throw Error(ErrorKind::bad_input, "the size " + expr_text(expr) + " is not an integer", place);
  }
  const double high = std::floor(enclose(expr, importer.symbols, importer.ranges).high);
  if (!(high < kLargestSize)) {
    throw Error(ErrorKind::unsupported,
                "the size " + expr_text(expr) + " depends on data and has no upper bound", place,
                "bound it in the model with torch._check(n <= limit) before export");
  }
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::max(high, 0.0)), 0);
}

void check_sizes(const Type& type, const std::string& place) {
  std::int64_t bytes = element_size(type.dtype);
  for (const std::int64_t size : type.sizes) {
    if (size < 0) throw Error(ErrorKind::bad_input, "a negative size", place);
    // Sizes of 0 count as 1: strides must stay in range too.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) {
      throw Error(ErrorKind::bad_input, "a tensor of more than 2^63 bytes", place);
    }
  }
}

}  // namespace

Type tensor_type(const Importer& importer, const ProgramTensor& tensor, const std::string& place) {
  Type type{.dtype = tensor.dtype};
  for (const Size& size : tensor.sizes) {
    type.sizes.push_back(size_bound(importer, size, place));
    type.dynamic = type.dynamic || is_dynamic(importer, size);
  }
  check_sizes(type, place);
  if (type.dynamic) {
    type.strides = row_major_strides(type.sizes);
  } else {
    for (const Size& stride : tensor.strides)
      type.strides.push_back(size_bound(importer, stride, place));
  }
  return type;
}

std::vector<bool> dynamic_dimensions(const Importer& importer, const ProgramTensor& tensor) {
  std::vector<bool> dims;
  for (const Size& size : tensor.sizes) dims.push_back(is_dynamic(importer, size));
  return dims;
}

std::optional<Number> known_number(const Importer& importer, const ProgramScalar& scalar) {
  if (const auto* number = std::get_if<Number>(&scalar.value)) return *number;
  return evaluate(expr_of(importer, std::get<std::int32_t>(scalar.value)), importer.symbols);
}

Arg number_arg(const Number& number) {
  return std::visit([](auto value) -> Arg { return value; }, number);
}

namespace {

// Reads tensor arguments by name.
struct Operands {
  const Importer& importer;
  const Schema& schema;
  const std::vector<Arg>& args;

  [[nodiscard]] const Arg* find(std::string_view name) const {
    for (std::size_t i = 0; i < schema.args.size(); ++i) {
      if (schema.args[i].name == name) return &args[i];
    }
    return nullptr;
  }
  [[nodiscard]] const Type* type(const Ref& ref) const {
    return ref.id < 0 ? nullptr : &importer.graph.value(ref.id).type;
  }
  [[nodiscard]] const Type* tensor(std::string_view name) const {
    const Arg* arg = find(name);
    const Ref* ref = arg ? std::get_if<Ref>(arg) : nullptr;
    return ref ? type(*ref) : nullptr;
  }
};

double elements(const Type* type) {
  double product = 1;
  if (type) {
    for (const std::int64_t size : type->sizes) product *= static_cast<double>(size);
  }
  return product;
}

// Elements of two operands broadcast against each other.
double broadcast_elements(const Type& a, const Type& b) {
  double product = 1;
  const std::size_t rank = std::max(a.sizes.size(), b.sizes.size());
  for (std::size_t i = 1; i <= rank; ++i) {
    const std::int64_t left = i <= a.sizes.size() ? a.sizes[a.sizes.size() - i] : 1;
    const std::int64_t right = i <= b.sizes.size() ? b.sizes[b.sizes.size() - i] : 1;
    product *= static_cast<double>(left == 1 ? right : left);
  }
  return product;
}

// x[mask]: as many rows as the mask has elements, at most.
double mask_elements(const Operands& operands) {
  double largest = std::numeric_limits<double>::infinity();
  const Arg* indices = operands.find("indices");
  const RefList* list = indices ? std::get_if<RefList>(indices) : nullptr;
  if (!list) return largest;
  for (const Ref& ref : list->refs) {
    const Type* type = operands.type(ref);
    if (type && (type->dtype == DType::boolean || type->dtype == DType::u8))
      largest = std::min(largest, elements(type));
  }
  return largest;
}

// The largest size that a data-dependent dimension `dim` of an output can have.
double largest_size(const std::string& op, const Operands& operands, std::size_t dim) {
  const Type* self = operands.tensor("self");
  if (op.starts_with("aten::nonzero") || op.starts_with("aten::unique") ||
      op.starts_with("aten::_unique")) {
    if (self) return elements(self);
  } else if (op == "aten::index.Tensor" || op == "aten::_unsafe_index.Tensor") {
    return mask_elements(operands);
  } else if (op == "aten::masked_select") {
    const Type* mask = operands.tensor("mask");
    if (self && mask) return broadcast_elements(*self, *mask);
  } else if (op == "torchvision::nms") {
    const Type* boxes = operands.tensor("dets");
    if (boxes && !boxes->sizes.empty()) return static_cast<double>(boxes->sizes[0]);
  } else if (op == "aten::slice.Tensor" || op.starts_with("aten::narrow")) {
    if (self && dim < self->sizes.size()) return static_cast<double>(self->sizes[dim]);
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

void bound_symbols(Importer& importer, const Scope& scope, const ProgramNode& node,
                   const Schema& schema, const std::vector<Arg>& args) {
  const Operands operands{importer, schema, args};
  for (const std::string& output : node.outputs) {
    const auto tensor = scope.graph.tensors.find(output);
    if (tensor == scope.graph.tensors.end()) continue;
    for (std::size_t dim = 0; dim < tensor->second.sizes.size(); ++dim) {
      const Size& size = tensor->second.sizes[dim];
      if (!is_dynamic(importer, size) || expr_of(importer, size.expr).fn != Fn::symbol) continue;
      const auto [range, is_new] =
          importer.ranges.try_emplace(expr_of(importer, size.expr).symbol,
                                      Interval64{0, std::numeric_limits<double>::infinity()});
      range->second.high = std::min(range->second.high, largest_size(node.op, operands, dim));
    }
  }
}

}  // namespace lowwater
