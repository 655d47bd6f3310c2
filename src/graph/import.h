// From the program JSON of an archive to a Graph.
//
//   parse_program   once per archive: JSON, symbols, input and output structure
//   import_graph    once per set of input shapes: binds symbols, fills defaults,
//                   inlines wrapper operators, functionalises, lints
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "graph/graph.h"
#include "graph/schema.h"

namespace lowwater {

// What the archive says of one user input. A size is a number or a symbol:
// `dims[i]` is the number, or -1 where `symbols[i]` names an expression.
struct InputDescription {
  std::string name;  // as in Input::name
  bool is_tensor = true;
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::vector<std::string> symbols;   // "s0", "2*s0"; empty where the size is fixed
  std::vector<std::int64_t> example;  // the sizes at export (hints); always complete
};

// The range that export recorded for a symbol. lowwater widens a minimum of 2
// to 1: export specialises 0 and 1 although the program runs with 1.
struct SymbolRange {
  std::int64_t min = 1;
  std::int64_t max = INT64_MAX;
};

struct ParsedProgram;  // the JSON document, private to import*.cc

struct ProgramDescription {
  std::vector<InputDescription> inputs;  // flat, in call order
  std::vector<std::string> outputs;  // dotted paths in the output structure, "" for a bare tensor
  std::map<std::string, SymbolRange> symbols;
  Structure input_structure, output_structure;
  std::string torch_version;
  int schema_major = 0, schema_minor = 0;
  std::shared_ptr<const ParsedProgram> parsed;
};

// Throws Error(bad_input) for malformed JSON, Error(unsupported) for another
// schema major version.
ProgramDescription parse_program(const std::string& json);

// Concrete sizes of the tensor inputs, by flat position; those of non-tensor
// inputs are ignored. An empty vector means the example sizes.
using InputShapes = std::vector<std::vector<std::int64_t>>;

// Throws Error(bad_input) where a shape contradicts the program (rank, fixed
// size, two values for one symbol, outside its range; names the input and the
// dimension), Error(unsupported) naming node, operator and source line.
Graph import_graph(const ProgramDescription& program, const WeightTable& weights,
                   const SchemaTable& schemas, const InputShapes& shapes);

}  // namespace lowwater
