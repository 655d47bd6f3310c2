#include "session_shapes.h"

#include <algorithm>

#include "base/dtype.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using Sizes = std::vector<std::int64_t>;

// "f32[s0,3,8,8]": fixed sizes as numbers, symbolic ones by name.
std::string text_of(const std::string& dtype, const Sizes& sizes,
                    const std::vector<std::string>& symbols) {
  std::string text = dtype + "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ",";
    const bool symbolic = sizes[i] < 0 && i < symbols.size();
    text += symbolic ? symbols[i] : std::to_string(sizes[i]);
  }
  return text + "]";
}

std::string text_of(const InputDescription& input) {
  return text_of(std::string(dtype_name(input.dtype)), input.dims, input.symbols);
}

bool fits(const InputDescription& input, const Sizes& sizes) {
  if (sizes.size() != input.dims.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || (input.dims[i] >= 0 && input.dims[i] != sizes[i])) return false;
  }
  return true;
}

[[noreturn]] void wrong_sizes(const InputDescription& input, const std::string& got) {
  throw Error(ErrorKind::bad_input, "the model takes " + text_of(input) + ", got " + got,
              "input \"" + input.name + "\"");
}

void check_names(const ProgramDescription& program, const std::map<std::string, Sizes>& given) {
  for (const auto& [name, sizes] : given) {
    const auto same = [&](const InputDescription& input) {
      return input.name == name && input.is_tensor;
    };
    if (std::any_of(program.inputs.begin(), program.inputs.end(), same)) continue;
    std::string names;
    for (const InputDescription& input : program.inputs) {
      if (input.is_tensor) names += (names.empty() ? "" : ", ") + input.name;
    }
    throw Error(ErrorKind::bad_input, "the model has no tensor input \"" + name + "\"", "shapes",
                "its inputs are: " + names);
  }
}

// The values of symbols that stand alone in a dimension of a given shape.
std::map<std::string, std::int64_t> bindings(const ProgramDescription& program,
                                             const std::map<std::string, Sizes>& given) {
  std::map<std::string, std::int64_t> bound;
  for (const InputDescription& input : program.inputs) {
    const auto found = given.find(input.name);
    if (found == given.end()) continue;
    if (!fits(input, found->second))
      wrong_sizes(input, text_of(std::string(dtype_name(input.dtype)), found->second, {}));
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] < 0) bound[input.symbols[i]] = found->second[i];
    }
  }
  return bound;
}

}  // namespace

InputShapes shapes_from_options(const ProgramDescription& program,
                                const std::map<std::string, Sizes>& given) {
  check_names(program, given);
  const auto bound = bindings(program, given);
  InputShapes shapes;
  std::string missing;
  for (const InputDescription& input : program.inputs) {
    shapes.emplace_back();
    if (!input.is_tensor) continue;
    shapes.back() = input.dims;
    if (const auto found = given.find(input.name); found != given.end())
      shapes.back() = found->second;
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      if (shapes.back()[i] >= 0) continue;
      if (const auto symbol = bound.find(input.symbols[i]); symbol != bound.end()) {
        shapes.back()[i] = symbol->second;
      } else {
        missing += (missing.empty() ? "" : ", ") + ("\"" + input.name + "\" dimension ") +
                   std::to_string(i) + " (" + input.symbols[i] + ")";
      }
    }
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::bad_input,
                "these sizes depend on the input and are not given: " + missing, {},
                "give the shapes of those inputs (--shape NAME=1x3x512x512)");
  }
  return shapes;
}

InputShapes shapes_from_views(const ProgramDescription& program,
                              const std::vector<TensorView>& views) {
  if (views.size() != program.inputs.size()) {
    throw Error(ErrorKind::bad_input, "the model takes " + std::to_string(program.inputs.size()) +
                                          " inputs, got " + std::to_string(views.size()));
  }
  InputShapes shapes;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const InputDescription& input = program.inputs[i];
    const TensorView& view = views[i];
    shapes.emplace_back();
    if (!input.is_tensor) continue;
    const bool same_type = view.dtype == dtype_name(input.dtype);
    if (!same_type || !fits(input, view.sizes))
      wrong_sizes(input, text_of(view.dtype, view.sizes, {}));
    if (!view.strides.empty() && view.strides.size() != view.sizes.size()) {
      throw Error(ErrorKind::bad_input, "its strides and sizes differ in number",
                  "input \"" + input.name + "\"");
    }
    const bool empty = std::find(view.sizes.begin(), view.sizes.end(), 0) != view.sizes.end();
    if (view.data == nullptr && !empty) {
      throw Error(ErrorKind::bad_input, "it has no data", "input \"" + input.name + "\"");
    }
    shapes.back() = view.sizes;
  }
  return shapes;
}

std::vector<IoDescription> describe_inputs(const ProgramDescription& program) {
  std::vector<IoDescription> list;
  for (const InputDescription& input : program.inputs) {
    IoDescription io{input.name, input.is_tensor, {}, {}, {}};
    if (input.is_tensor) {
      io.dtype = dtype_name(input.dtype);
      io.sizes = input.dims;
      io.symbols = input.symbols;
    }
    list.push_back(std::move(io));
  }
  return list;
}

std::vector<IoDescription> describe_outputs(const ProgramDescription& program) {
  std::vector<IoDescription> list;
  for (const std::string& name : program.outputs) list.push_back({name, true, {}, {}, {}});
  return list;
}

void fill_output_types(std::vector<IoDescription>& outputs, const Graph& graph) {
  for (std::size_t i = 0; i < outputs.size() && i < graph.outputs.size(); ++i) {
    const auto* ref = std::get_if<Ref>(&graph.outputs[i].value);
    outputs[i].is_tensor =
        ref != nullptr && ref->id >= 0 && graph.value(ref->id).type.kind == TypeKind::tensor;
    if (!outputs[i].is_tensor) continue;
    const Type& type = graph.value(ref->id).type;
    outputs[i].dtype = dtype_name(type.dtype);
    outputs[i].sizes = type.sizes;
    outputs[i].symbols.assign(type.sizes.size(), {});
  }
}

}  // namespace lowwater
