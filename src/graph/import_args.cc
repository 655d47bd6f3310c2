// Arguments: from what the program says to what the schema wants.
#include <algorithm>
#include <unordered_set>

#include "graph/import_builder.h"

namespace lowwater {
namespace {

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

struct Context {
  const Importer& importer;
  const Scope& scope;
  const ProgramNode& node;
  const SchemaArg& expected;

  [[noreturn]] void refuse(const std::string& what) const {
    refuse_node(importer, node, "argument '" + expected.name + "' " + what);
  }
};

Ref list_item(const Context& context, const std::string& name) {
  if (name.empty()) return {};
  const Arg& value = lookup(context.importer, context.scope, context.node, name);
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (const Ref* ref = std::get_if<Ref>(&value)) return *ref;
  context.refuse("holds a number in a list of tensors");
}

// The largest value that a number known only at run time can have, or -1.
std::int64_t upper_bound(const Context& context, const std::string& name) {
  const auto scalar = context.scope.graph.scalars.find(name);
  if (scalar == context.scope.graph.scalars.end()) return -1;
  const auto* index = std::get_if<std::int32_t>(&scalar->second.value);
  if (!index) return -1;
  const Expr& expr = context.importer.program.exprs[static_cast<std::size_t>(*index)];
  const double high = enclose(expr, context.importer.symbols, context.importer.ranges).high;
  return high >= 0 && high < 0x1p53 ? static_cast<std::int64_t>(high) : -1;
}

// [1, s0]: numbers by now, or a mix of numbers and values.
Arg integer_list(const Context& context, const NumberList& list) {
  MixedInts mixed;
  bool has_refs = false;
  for (const NamedOrNumber& item : list.items) {
    Arg value;
    if (const auto* named = std::get_if<Named>(&item)) {
      value = lookup(context.importer, context.scope, context.node, named->name);
    } else {
      value = number_arg(std::get<Number>(item));
    }
    if (const auto* ref = std::get_if<Ref>(&value)) {
      mixed.values.push_back(upper_bound(context, std::get<Named>(item).name));
      mixed.refs.push_back(*ref);
      has_refs = true;
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      mixed.values.push_back(*integer);
      mixed.refs.emplace_back();
    } else {
      context.refuse("holds something else than integers");
    }
  }
  if (has_refs) return mixed;
  return mixed.values;
}

// Lists of computed reals or truth values must be known by now.
template <typename Element>
Arg known_list(const Context& context, const NumberList& list) {
  std::vector<Element> values;
  for (const NamedOrNumber& item : list.items) {
    Arg value =
        std::holds_alternative<Number>(item)
            ? number_arg(std::get<Number>(item))
            : lookup(context.importer, context.scope, context.node, std::get<Named>(item).name);
    if (const auto* element = std::get_if<Element>(&value)) {
      values.push_back(*element);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value);
               integer && std::is_same_v<Element, double>) {
      values.push_back(static_cast<Element>(*integer));
    } else {
      context.refuse("is a list of numbers that depend on data");
    }
  }
  return values;
}

Arg number_list(const Context& context, const NumberList& list) {
  if (context.expected.type == SchemaType::real_list) return known_list<double>(context, list);
  if (context.expected.type == SchemaType::boolean_list) return known_list<bool>(context, list);
  return integer_list(context, list);
}

// Program argument -> Arg by its own kind; the schema's type is applied after.
Arg natural(const Context& context, const ProgramArg& arg) {
  return std::visit(Overloaded{
                        [&](const Named& named) -> Arg {
                          return lookup(context.importer, context.scope, context.node, named.name);
                        },
                        [&](const NamedList& list) -> Arg {
                          RefList refs;
                          for (const std::string& name : list.names)
                            refs.refs.push_back(list_item(context, name));
                          return refs;
                        },
                        [&](const NumberList& list) -> Arg { return number_list(context, list); },
                        [](const AnyDevice&) -> Arg { return DeviceArg::plan_device; },
                        [&](const Subgraph&) -> Arg { context.refuse("is a subgraph"); },
                        [&](const NotUnderstood& unknown) -> Arg {
                          context.refuse("is of kind " + unknown.kind + ", which is not supported");
                        },
                        [](const auto& plain) -> Arg { return plain; },
                    },
                    arg);
}

// Numbers to the type of the schema. What needs no change comes back as it is.
Arg coerce(const Context& context, Arg arg) {
  const auto* integer = std::get_if<std::int64_t>(&arg);
  const auto* real = std::get_if<double>(&arg);
  const auto* truth = std::get_if<bool>(&arg);
  switch (context.expected.type) {
    case SchemaType::tensor:
      if (integer) return WrappedNumber{*integer};
      if (real) return WrappedNumber{*real};
      if (truth) return WrappedNumber{*truth};
      if (const auto* complex = std::get_if<std::complex<double>>(&arg))
        return WrappedNumber{*complex};
      return arg;
    case SchemaType::real:
      if (integer) return static_cast<double>(*integer);
      return arg;
    case SchemaType::integer:
      if (truth) return std::int64_t{*truth};
      if (real && as_integer(*real)) return *as_integer(*real);
      return arg;
    case SchemaType::integer_list:
      if (integer) return std::vector<std::int64_t>{*integer};
      return arg;
    case SchemaType::real_list:
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&arg)) {
        return std::vector<double>(list->begin(), list->end());
      }
      if (real) return std::vector<double>{*real};
      return arg;
    default:
      return arg;
  }
}

bool is_list(SchemaType type) {
  return type == SchemaType::tensor_list || type == SchemaType::optional_tensor_list ||
         type == SchemaType::integer_list || type == SchemaType::real_list ||
         type == SchemaType::boolean_list;
}

// The exporter guesses the kind of an empty list.
bool is_empty_list(const Arg& arg) {
  if (const auto* refs = std::get_if<RefList>(&arg)) return refs->refs.empty();
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&arg)) return integers->empty();
  if (const auto* reals = std::get_if<std::vector<double>>(&arg)) return reals->empty();
  if (const auto* truths = std::get_if<std::vector<bool>>(&arg)) return truths->empty();
  return false;
}

Arg empty_list(SchemaType type) {
  switch (type) {
    case SchemaType::integer_list:
      return std::vector<std::int64_t>{};
    case SchemaType::real_list:
      return std::vector<double>{};
    case SchemaType::boolean_list:
      return std::vector<bool>{};
    default:
      return RefList{};
  }
}

// Does `arg` fit the schema's type? A value (Ref) stands for a tensor or, where
// a number is wanted, for one that is known only at run time.
bool fits(SchemaType type, const Arg& arg) {
  const auto is = [&]<typename... Kinds>(std::tuple<Kinds...>*) {
    return (std::holds_alternative<Kinds>(arg) || ...);
  };
  const auto any = [&]<typename... Kinds>() {
    return is(static_cast<std::tuple<Kinds...>*>(nullptr));
  };
  switch (type) {
    case SchemaType::tensor:
      return any.operator()<Ref, WrappedNumber>();
    case SchemaType::tensor_list:
    case SchemaType::optional_tensor_list:
      return any.operator()<RefList>();
    case SchemaType::integer:
      return any.operator()<std::int64_t, Ref, DType, MemoryFormat, Layout>();
    case SchemaType::integer_list:
      return any.operator()<std::vector<std::int64_t>, MixedInts>();
    case SchemaType::real:
      return any.operator()<double, Ref>();
    case SchemaType::real_list:
      return any.operator()<std::vector<double>>();
    case SchemaType::boolean:
      return any.operator()<bool, Ref>();
    case SchemaType::boolean_list:
      return any.operator()<std::vector<bool>>();
    case SchemaType::scalar:
      return any.operator()<bool, std::int64_t, double, std::complex<double>, Ref>();
    case SchemaType::string:
      return any.operator()<std::string>();
    case SchemaType::dtype:
      return any.operator()<DType>();
    case SchemaType::layout:
      return any.operator()<Layout>();
    case SchemaType::device:
      return any.operator()<DeviceArg>();
    case SchemaType::memory_format:
      return any.operator()<MemoryFormat>();
    case SchemaType::other:
      return true;
  }
  return false;
}

}  // namespace

const Arg& lookup(const Importer& importer, const Scope& scope, const ProgramNode& node,
                  const std::string& name) {
  const auto found = scope.values.find(name);
  if (found != scope.values.end()) return found->second;
  throw Error(ErrorKind::bad_input, "reads '" + name + "', which nothing defines before it",
              place_of(importer, node));
}

Arg convert_arg(const Importer& importer, const Scope& scope, const ProgramNode& node,
                const SchemaArg& expected, const ProgramArg& arg) {
  const Context context{importer, scope, node, expected};
  Arg result = coerce(context, natural(context, arg));
  if (is_list(expected.type) && is_empty_list(result)) return empty_list(expected.type);
  const bool none = std::holds_alternative<std::monostate>(result);
  if (none ? !expected.optional && expected.type != SchemaType::tensor
           : !fits(expected.type, result)) {
    context.refuse("has another type than this PyTorch's operator takes");
  }
  return result;
}

namespace {

bool takes_tensors(const Schema& schema) {
  return std::any_of(schema.args.begin(), schema.args.end(), [](const SchemaArg& arg) {
    return arg.type == SchemaType::tensor || arg.type == SchemaType::tensor_list ||
           arg.type == SchemaType::optional_tensor_list;
  });
}

Arg default_arg(const Importer& importer, const ProgramNode& node, const SchemaArg& expected) {
  if (expected.has_default) return expected.default_value;
  if (expected.optional) return std::monostate();
  refuse_node(importer, node, "argument '" + expected.name + "' is missing",
              "the operator changed since the model was exported; export it with this PyTorch");
}

}  // namespace

std::vector<Arg> convert_args(const Importer& importer, const Scope& scope, const ProgramNode& node,
                              const Schema& schema) {
  std::vector<Arg> args;
  std::size_t used = 0;
  for (const SchemaArg& expected : schema.args) {
    const auto given = std::find_if(node.args.begin(), node.args.end(), [&](const auto& named) {
      return named.first == expected.name;
    });
    if (given != node.args.end()) ++used;
    Arg arg = given == node.args.end()
                  ? default_arg(importer, node, expected)
                  : convert_arg(importer, scope, node, expected, given->second);
    // Without a tensor to follow, "no device" would mean the CPU.
    if (expected.type == SchemaType::device && std::holds_alternative<std::monostate>(arg) &&
        !takes_tensors(schema)) {
      arg = DeviceArg::plan_device;
    }
    args.push_back(std::move(arg));
  }
  if (used != node.args.size()) {
    refuse_node(importer, node, "an argument is not known to this PyTorch's operator",
                "the operator changed since the model was exported; export it with this PyTorch");
  }
  return args;
}

std::vector<Arg> plain_args(const Importer& importer, const Scope& scope, const ProgramNode& node,
                            const ProgramArg& arg) {
  const SchemaArg anything{.name = "operand"};
  const Context context{importer, scope, node, anything};
  if (const auto* list = std::get_if<NamedList>(&arg)) {
    std::vector<Arg> items;
    for (const std::string& name : list->names) {
      items.push_back(name.empty() ? Arg() : lookup(importer, scope, node, name));
    }
    return items;
  }
  if (const auto* list = std::get_if<NumberList>(&arg)) {
    std::vector<Arg> items;
    for (const NamedOrNumber& item : list->items) {
      const auto* named = std::get_if<Named>(&item);
      items.push_back(named ? lookup(importer, scope, node, named->name)
                            : number_arg(std::get<Number>(item)));
    }
    return items;
  }
  return {natural(context, arg)};
}

}  // namespace lowwater
