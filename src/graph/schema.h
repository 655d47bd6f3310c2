// Operator signatures, as plain data: what the importer needs to fill omitted
// defaults and what the analyses need to know about aliases. exec/ dumps the
// table from the installed PyTorch; tests use the snapshot in tests/data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/arg.h"

namespace lowwater {

// The type of a schema argument, as far as the importer distinguishes types.
enum class SchemaType : std::uint8_t {
  tensor,
  tensor_list,
  optional_tensor_list,
  integer,
  integer_list,
  real,
  real_list,
  boolean,
  boolean_list,
  scalar,
  string,
  dtype,
  layout,
  device,
  memory_format,
  other,
};

struct SchemaArg {
  std::string name;
  SchemaType type = SchemaType::other;
  bool optional = false;  // the type is Optional[...]
  bool kwarg_only = false;
  bool has_default = false;
  Arg default_value;
  std::string alias;      // alias set, "a" in Tensor(a!) and Tensor(a -> *), empty if none
  bool is_write = false;  // the "!" of it
};

struct SchemaReturn {
  SchemaType type = SchemaType::tensor;
  // Of "Tensor(a)[]" the alias set is that of the elements: AliasInfo::containedTypes().
  std::string alias;  // output j aliases argument i if the sets are equal
  bool is_write = false;
};

struct Schema {
  std::string name;  // "aten::add.Tensor"; no dot for the default overload
  std::vector<SchemaArg> args;
  std::vector<SchemaReturn> returns;
  bool random = false;          // Tag::nondeterministic_seeded
  bool data_dependent = false;  // Tag::data_dependent_output or dynamic_output_shape

  [[nodiscard]] bool is_mutable() const;
};

// Every operator known to the installed PyTorch, by qualified name.
struct SchemaTable {
  std::string torch_version;
  std::unordered_map<std::string, Schema> schemas;

  [[nodiscard]] const Schema* find(const std::string& name) const;
};

// JSON both ways; the format is private to lowwater (tests/data/schemas.json).
std::string schema_table_to_json(const SchemaTable& table);
SchemaTable schema_table_from_json(std::string_view json);

}  // namespace lowwater
