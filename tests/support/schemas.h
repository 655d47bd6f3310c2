// The schemas of the installed PyTorch, from the snapshot in tests/data.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "graph/schema.h"

namespace lowwater {

inline std::string read_test_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline const SchemaTable& snapshot_schemas() {
  static const SchemaTable table =
      schema_table_from_json(read_test_file(LOWWATER_TEST_DATA "/schemas.json"));
  return table;
}

}  // namespace lowwater
