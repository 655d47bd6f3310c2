// JSON of a graph -> ProgramGraph. Private to import*.cc.
#pragma once

#include <string>
#include <unordered_map>

#include "graph/import_json.h"
#include "graph/import_program.h"

namespace lowwater {

// Reads graphs, subgraphs included, into one program: expressions and source
// lines are kept once each.
class ProgramReader {
 public:
  explicit ProgramReader(ParsedProgram& program) : program_(program) {}

  ProgramGraph graph(const Json& json, int depth = 0);
  ProgramArg argument(const Json& json, int depth = 0);

 private:
  ProgramNode node(const Json& json, int depth);
  ProgramTensor tensor(const Json& json);
  ProgramScalar scalar(const Json& json, TypeKind kind);
  Size size(const Json& json);
  std::int32_t expression(const std::string& text);
  SourceId source(const Json& metadata);

  ParsedProgram& program_;
  std::unordered_map<std::string, std::int32_t> exprs_;
  std::unordered_map<std::string, SourceId> sources_;
};

}  // namespace lowwater
