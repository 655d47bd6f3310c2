#include "graph/structure.h"

#include <nlohmann/json.hpp>
#include <set>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr int kMaxLeaves = 100'000;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::bad_input, "malformed structure of inputs or outputs: " + why,
              "program JSON");
}

json parse_json(std::string_view text) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) refuse("not JSON");
  return parsed;
}

// A dict key as a user writes it in a path.
std::string key_text(const json& key) {
  if (key.is_string()) return key.get<std::string>();
  if (key.is_number_integer()) return std::to_string(key.get<std::int64_t>());
  if (key.is_boolean()) return key.get<bool>() ? "True" : "False";
  refuse("a key that is neither text nor a number");
}

std::vector<std::string> key_list(const json& keys) {
  std::vector<std::string> names;
  for (const json& key : keys) names.push_back(key_text(key));
  return names;
}

// The field names that a node's context carries; empty if it has none.
//   dict, OrderedDict, ModelOutput   ["a", "b"]
//   dataclass                        [["a", "b"], ["fields that are None"]]
//   defaultdict                      {..., "dict_context": ["a", "b"]}
std::vector<std::string> field_names(const json& context, std::size_t children) {
  if (context.is_object() && context.contains("dict_context")) {
    return field_names(context["dict_context"], children);
  }
  if (!context.is_array()) return {};
  if (context.size() == 2 && context[0].is_array() && context[1].is_array() &&
      context[0].size() == children) {
    return key_list(context[0]);
  }
  if (context.size() != children) return {};
  for (const json& key : context) {
    if (key.is_structured() || key.is_null()) return {};
  }
  return key_list(context);
}

const json& member(const json& node, const char* name) {
  const auto found = node.find(name);
  if (found == node.end()) refuse(std::string("'") + name + "' is missing");
  return *found;
}

Structure convert(const json& node, const NamedTuples& named_tuples, std::int32_t& leaves,
                  int depth) {
  if (depth > kMaxDepth || leaves >= kMaxLeaves) refuse("nested too deeply or too long");
  if (!node.is_object()) refuse("a node is not an object");
  const json& type = member(node, "type");
  if (type.is_null()) return {.kind = Structure::Kind::leaf, .leaf = leaves++};
  const json& children = member(node, "children_spec");
  if (!type.is_string() || !children.is_array()) refuse("a node without type or children");

  Structure result{.kind = Structure::Kind::tuple};
  const std::string name = type.get<std::string>();
  const json& context = member(node, "context");
  const std::string context_text = context.is_string() ? context.get<std::string>() : "null";
  if (name == "collections.namedtuple") {
    if (const auto found = named_tuples.find(context_text); found != named_tuples.end()) {
      result.keys = found->second;
    }
  } else if (name == "builtins.list" || name == "collections.deque") {
    result.kind = Structure::Kind::list;
  } else if (name != "builtins.tuple") {
    const json parsed = json::parse(context_text, nullptr, false);
    result.keys = field_names(parsed, children.size());
  }
  if (!result.keys.empty() || name == "builtins.dict") result.kind = Structure::Kind::dict;
  if (result.kind == Structure::Kind::dict && result.keys.size() != children.size()) {
    refuse("'" + name + "' has another number of names than of members");
  }
  for (const json& child : children) {
    result.children.push_back(convert(child, named_tuples, leaves, depth + 1));
  }
  return result;
}

void append_paths(const Structure& node, const std::string& prefix,
                  std::vector<std::string>& paths) {
  if (node.kind == Structure::Kind::leaf) {
    paths.push_back(prefix);
    return;
  }
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const std::string step = node.kind == Structure::Kind::dict ? node.keys[i] : std::to_string(i);
    append_paths(node.children[i], prefix.empty() ? step : prefix + "." + step, paths);
  }
}

// {"a.b": x, "a": {"b": y}} would give "a.b" twice.
void make_unique(std::vector<std::string>& paths) {
  std::set<std::string> taken;
  for (std::string& path : paths) {
    const std::string base = path;
    for (int i = 2; !taken.insert(path).second; ++i) path = base + "_" + std::to_string(i);
  }
}

// torch.export spells the members of *args "args_0", "args_1".
std::string argument_name(const std::vector<std::string>& names, std::size_t i) {
  const std::string number = std::to_string(i);
  if (i >= names.size()) return "args." + number;
  if (names[i].starts_with("args_")) return "args." + names[i].substr(5);
  return names[i];
}

}  // namespace

Structure parse_structure(std::string_view text, const NamedTuples& named_tuples) {
  const json spec = parse_json(text);
  // [protocol version, root]
  if (!spec.is_array() || spec.size() != 2) refuse("not [version, node]");
  if (!spec[0].is_number_integer() || spec[0].get<std::int64_t>() != 1) {
    throw Error(ErrorKind::unsupported,
                "the structure of inputs is written in another version than 1", "program JSON");
  }
  std::int32_t leaves = 0;
  return convert(spec[1], named_tuples, leaves, 0);
}

int count_leaves(const Structure& structure) {
  if (structure.kind == Structure::Kind::leaf) return 1;
  int count = 0;
  for (const Structure& child : structure.children) count += count_leaves(child);
  return count;
}

std::vector<std::string> leaf_paths(const Structure& structure) {
  std::vector<std::string> paths;
  append_paths(structure, "", paths);
  make_unique(paths);
  return paths;
}

std::vector<std::string> input_paths(const Structure& structure,
                                     const std::vector<std::string>& argument_names) {
  if (structure.children.size() != 2 || structure.children[1].kind != Structure::Kind::dict) {
    refuse("inputs are not (args, kwargs)");
  }
  std::vector<std::string> paths;
  const Structure& args = structure.children[0];
  for (std::size_t i = 0; i < args.children.size(); ++i) {
    append_paths(args.children[i], argument_name(argument_names, i), paths);
  }
  append_paths(structure.children[1], "", paths);
  make_unique(paths);
  return paths;
}

}  // namespace lowwater
