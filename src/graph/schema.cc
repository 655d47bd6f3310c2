#include "graph/schema.h"

#include <algorithm>
#include <array>
#include <complex>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "lowwater/error.h"

namespace lowwater {

bool Schema::is_mutable() const {
  return std::any_of(args.begin(), args.end(), [](const SchemaArg& arg) { return arg.is_write; });
}

const Schema* SchemaTable::find(const std::string& name) const {
  const auto found = schemas.find(name);
  return found == schemas.end() ? nullptr : &found->second;
}

namespace {

using nlohmann::json;

// {"version": 1, "torch": "2.11.0", "ops": {
//   "aten::add.Tensor": {"args": [{"name": "self", "type": "tensor"}, ...,
//                                 {"name": "alpha", "type": "scalar", "kw": true, "default": 1}],
//                        "returns": [{"type": "tensor"}], "random": true, ...}}}
//
// Flags that are false and empty aliases are left out; "alias" is "a" or "a!".
// Defaults are plain JSON, read by the argument's type; what JSON lacks is an
// object with one key: {"real": "inf"}, {"complex": [0.0, 1.0]}, {"dtype": "i64"},
// {"memory_format": "preserve"}, {"layout": "strided"}, {"device": "host"}.
constexpr int kVersion = 1;

template <typename Enum, std::size_t n>
using Names = std::array<std::pair<Enum, const char*>, n>;

constexpr Names<SchemaType, 16> kTypeNames = {{
    {SchemaType::tensor, "tensor"},
    {SchemaType::tensor_list, "tensor_list"},
    {SchemaType::optional_tensor_list, "optional_tensor_list"},
    {SchemaType::integer, "int"},
    {SchemaType::integer_list, "int_list"},
    {SchemaType::real, "real"},
    {SchemaType::real_list, "real_list"},
    {SchemaType::boolean, "bool"},
    {SchemaType::boolean_list, "bool_list"},
    {SchemaType::scalar, "scalar"},
    {SchemaType::string, "string"},
    {SchemaType::dtype, "dtype"},
    {SchemaType::layout, "layout"},
    {SchemaType::device, "device"},
    {SchemaType::memory_format, "memory_format"},
    {SchemaType::other, "other"},
}};
constexpr Names<MemoryFormat, 4> kFormatNames = {{
    {MemoryFormat::contiguous, "contiguous"},
    {MemoryFormat::channels_last, "channels_last"},
    {MemoryFormat::channels_last_3d, "channels_last_3d"},
    {MemoryFormat::preserve, "preserve"},
}};
constexpr Names<Layout, 1> kLayoutNames = {{{Layout::strided, "strided"}}};
constexpr Names<DeviceArg, 2> kDeviceNames = {
    {{DeviceArg::plan_device, "plan"}, {DeviceArg::host, "host"}}};

template <typename Enum, std::size_t n>
std::string name_of(const Names<Enum, n>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "?";
}

template <typename Enum, std::size_t n>
Enum value_of(const Names<Enum, n>& names, const std::string& name) {
  for (const auto& [value, candidate] : names) {
    if (name == candidate) return value;
  }
  throw Error(ErrorKind::bad_input, "'" + name + "' is not known", "schema table");
}

json real_to_json(double value) {
  if (value == std::numeric_limits<double>::infinity()) return {{"real", "inf"}};
  if (value == -std::numeric_limits<double>::infinity()) return {{"real", "-inf"}};
  if (value != value) return {{"real", "nan"}};
  return value;
}

double real_from_json(const json& from) {
  if (!from.is_object()) return from.get<double>();
  const auto text = from.at("real").get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

struct DefaultToJson {
  json operator()(std::monostate) const { return nullptr; }
  json operator()(bool value) const { return value; }
  json operator()(std::int64_t value) const { return value; }
  json operator()(double value) const { return real_to_json(value); }
  json operator()(const std::complex<double>& value) const {
    return {{"complex", {real_to_json(value.real()), real_to_json(value.imag())}}};
  }
  json operator()(const std::string& value) const { return value; }
  json operator()(DType value) const { return {{"dtype", dtype_name(value)}}; }
  json operator()(MemoryFormat value) const {
    return {{"memory_format", name_of(kFormatNames, value)}};
  }
  json operator()(Layout value) const { return {{"layout", name_of(kLayoutNames, value)}}; }
  json operator()(DeviceArg value) const { return {{"device", name_of(kDeviceNames, value)}}; }
  json operator()(const std::vector<bool>& value) const { return value; }
  json operator()(const std::vector<std::int64_t>& value) const { return value; }
  json operator()(const std::vector<double>& value) const {
    json list = json::array();
    for (const double item : value) list.push_back(real_to_json(item));
    return list;
  }
  // A default cannot refer to values.
  template <typename Reference>
  json operator()(const Reference&) const {
    throw Error(ErrorKind::internal, "a schema default refers to a value");
  }
};

Arg list_from_json(const json& from, SchemaType type) {
  if (type == SchemaType::real_list) {
    std::vector<double> list;
    for (const json& item : from) list.push_back(real_from_json(item));
    return list;
  }
  if (type == SchemaType::boolean_list) return from.get<std::vector<bool>>();
  return from.get<std::vector<std::int64_t>>();
}

Arg default_from_json(const json& from, SchemaType type) {
  if (from.is_null()) return std::monostate();
  if (from.is_boolean()) return from.get<bool>();
  if (from.is_string()) return from.get<std::string>();
  if (from.is_array()) return list_from_json(from, type);
  if (from.is_number_integer() && type != SchemaType::real) return from.get<std::int64_t>();
  if (from.is_number() || from.contains("real")) return real_from_json(from);
  if (from.size() != 1) throw Error(ErrorKind::bad_input, "malformed default", "schema table");
  const std::string key = from.begin().key();  // (what items() yields dies with its iterator)
  const json& value = from.begin().value();
  if (key == "complex") {
    return std::complex<double>(real_from_json(value.at(0)), real_from_json(value.at(1)));
  }
  const auto name = value.get<std::string>();
  if (key == "memory_format") return value_of(kFormatNames, name);
  if (key == "layout") return value_of(kLayoutNames, name);
  if (key == "device") return value_of(kDeviceNames, name);
  const std::optional<DType> dtype = parse_dtype(name);
  if (key == "dtype" && dtype) return *dtype;
  throw Error(ErrorKind::bad_input, "the default '" + name + "' is not known", "schema table");
}

void alias_to_json(json& to, const std::string& alias, bool is_write) {
  if (!alias.empty() || is_write) to["alias"] = is_write ? alias + "!" : alias;
}

void alias_from_json(const json& from, std::string& alias, bool& is_write) {
  alias = from.value("alias", "");
  is_write = !alias.empty() && alias.back() == '!';
  if (is_write) alias.pop_back();
}

json schema_to_json(const Schema& schema) {
  json to = {{"args", json::array()}, {"returns", json::array()}};
  for (const SchemaArg& arg : schema.args) {
    json item = {{"name", arg.name}, {"type", name_of(kTypeNames, arg.type)}};
    if (arg.optional) item["optional"] = true;
    if (arg.kwarg_only) item["kw"] = true;
    if (arg.has_default) item["default"] = std::visit(DefaultToJson(), arg.default_value);
    alias_to_json(item, arg.alias, arg.is_write);
    to["args"].push_back(std::move(item));
  }
  for (const SchemaReturn& value : schema.returns) {
    json item = {{"type", name_of(kTypeNames, value.type)}};
    alias_to_json(item, value.alias, value.is_write);
    to["returns"].push_back(std::move(item));
  }
  if (schema.random) to["random"] = true;
  if (schema.data_dependent) to["data_dependent"] = true;
  return to;
}

Schema schema_from_json(const std::string& name, const json& from) {
  Schema schema;
  schema.name = name;
  for (const json& item : from.at("args")) {
    SchemaArg arg;
    arg.name = item.at("name").get<std::string>();
    arg.type = value_of(kTypeNames, item.at("type").get<std::string>());
    arg.optional = item.value("optional", false);
    arg.kwarg_only = item.value("kw", false);
    arg.has_default = item.contains("default");
    if (arg.has_default) arg.default_value = default_from_json(item.at("default"), arg.type);
    alias_from_json(item, arg.alias, arg.is_write);
    schema.args.push_back(std::move(arg));
  }
  for (const json& item : from.at("returns")) {
    SchemaReturn value;
    value.type = value_of(kTypeNames, item.at("type").get<std::string>());
    alias_from_json(item, value.alias, value.is_write);
    schema.returns.push_back(std::move(value));
  }
  schema.random = from.value("random", false);
  schema.data_dependent = from.value("data_dependent", false);
  return schema;
}

}  // namespace

std::string schema_table_to_json(const SchemaTable& table) {
  // nlohmann's objects are sorted maps: equal tables give equal texts.
  json ops = json::object();
  for (const auto& [name, schema] : table.schemas) ops[name] = schema_to_json(schema);
  const json whole = {
      {"version", kVersion}, {"torch", table.torch_version}, {"ops", std::move(ops)}};
  return whole.dump();
}

SchemaTable schema_table_from_json(std::string_view text) {
  try {
    const json whole = json::parse(text);
    if (whole.at("version").get<int>() != kVersion) {
      throw Error(ErrorKind::bad_input, "unknown version of the schema table", "schema table");
    }
    SchemaTable table;
    table.torch_version = whole.at("torch").get<std::string>();
    for (const auto& [name, schema] : whole.at("ops").items()) {
      table.schemas.emplace(name, schema_from_json(name, schema));
    }
    return table;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::bad_input, error.what(), "schema table");
  }
}

}  // namespace lowwater
