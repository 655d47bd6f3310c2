#include "graph/import.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "golden.h"
#include "graph/import_program.h"
#include "graph/text.h"
#include "lowwater/error.h"
#include "program_file.h"

namespace lowwater {
namespace {

Graph import(const ProgramFile& file, const InputShapes& shapes = {}) {
  return import_graph(parse_program(file.program.dump()), file.weights, snapshot_schemas(), shapes);
}

// The message of the Error that importing throws; empty if it throws none.
std::string refusal(const ProgramFile& file, const InputShapes& shapes = {},
                    ErrorKind kind = ErrorKind::bad_input) {
  try {
    import(file, shapes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return {};
}

std::string refusal(const std::string& name, const InputShapes& shapes = {},
                    ErrorKind kind = ErrorKind::bad_input) {
  return refusal(read_program_file(name), shapes, kind);
}

// "2x4 - 3" -> {{2, 4}, {}, {3}}
InputShapes parse_shapes(const std::string& text) {
  InputShapes shapes;
  std::stringstream words(text);
  for (std::string word; words >> word;) {
    shapes.emplace_back();
    std::stringstream sizes(word == "-" ? "" : word);
    for (std::string size; std::getline(sizes, size, 'x');)
      shapes.back().push_back(std::stoll(size));
  }
  return shapes;
}

// tests/golden/import: the program's name, shapes if others than at export,
// and the graph or the error that comes out.
TEST(Import, Golden) {
  const auto files = golden_files("import");
  ASSERT_GT(files.size(), 25U);
  for (const auto& path : files) {
    SCOPED_TRACE(path.string());
    const GoldenFile golden = read_golden(path);
    std::string name = golden.section("program");
    ASSERT_FALSE(name.empty());
    name.pop_back();
    std::string result;
    try {
      result = print_graph(import(read_program_file(name), parse_shapes(golden.section("shapes"))));
    } catch (const Error& error) {
      result = std::string(error.what()) + "\n";
    }
    expect_golden(golden, "result", result);
  }
}

// ---- what parse_program says of inputs and outputs

std::vector<std::string> input_names(const ProgramDescription& program) {
  std::vector<std::string> names;
  for (const InputDescription& input : program.inputs) names.push_back(input.name);
  return names;
}

ProgramDescription describe(const std::string& name) {
  return parse_program(read_program_file(name).program.dump());
}

using Names = std::vector<std::string>;

TEST(ParseProgram, NamesFollowTheCallersStructure) {
  const ProgramDescription nested = describe("nested");
  EXPECT_EQ(input_names(nested),
            (Names{"batch.image", "batch.parts.0", "batch.parts.1", "mask", "flag"}));
  EXPECT_EQ(nested.outputs, (Names{"out", "aux", "list.0", "list.1", "n"}));
  EXPECT_EQ(input_names(describe("var_args")), (Names{"args.0", "args.1.0", "args.1.1"}));
  EXPECT_EQ(describe("var_args").outputs, (Names{"0"}));
  EXPECT_EQ(describe("containers").outputs,
            (Names{"0.logits", "0.past.0", "0.past.1", "1.first", "1.second", "2.7"}));
  EXPECT_EQ(describe("tied").outputs, (Names{""}));
}

TEST(ParseProgram, SizesAndSymbols) {
  const ProgramDescription program = describe("related_sizes");
  ASSERT_EQ(program.inputs.size(), 2U);
  const InputDescription& x = program.inputs[0];
  const std::string s = x.symbols[0];  // the exporter numbers its symbols
  EXPECT_EQ(x.dims, (std::vector<std::int64_t>{-1, -1}));
  EXPECT_EQ(x.symbols, (Names{s, "2*" + s}));
  EXPECT_EQ(x.example, (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(program.inputs[1].symbols, (Names{"(2*" + s + ") + 1"}));
  EXPECT_EQ(program.symbols.at(s).max, 8);
  EXPECT_EQ(program.schema_major, 8);
  EXPECT_EQ(program.torch_version.substr(0, 4), "2.11");
}

TEST(ParseProgram, AMinimumOfTwoIsWidened) {
  ProgramFile file = read_program_file("reshapes");
  const std::string s = describe("reshapes").inputs[0].symbols[0];
  file.program["range_constraints"][s] = {{"min_val", 2}, {"max_val", nullptr}};
  EXPECT_EQ(parse_program(file.program.dump()).symbols.at(s).min, 1);
  EXPECT_EQ(import(file, {{1, 8}}).value(0).type.sizes, (std::vector<std::int64_t>{1, 8}));
}

TEST(ParseProgram, NonTensorInputs) {
  const ProgramDescription program = describe("nested");
  EXPECT_TRUE(program.inputs[0].is_tensor);
  EXPECT_FALSE(program.inputs[3].is_tensor);
  const Graph graph = import(read_program_file("nested"));
  EXPECT_EQ(graph.inputs[3].constant, Arg());
  EXPECT_EQ(graph.inputs[4].constant, Arg(std::int64_t{3}));
}

// ---- shapes that do not fit

TEST(ImportShapes, RefusedByInputAndDimension) {
  EXPECT_EQ(refusal("reshapes", {{2, 9}}), "input 'x', dimension 1: the size is 9, expected 8");
  EXPECT_EQ(refusal("reshapes", {{2, 8, 1}}), "input 'x': the tensor has 3 dimensions, expected 2");
  EXPECT_EQ(refusal("reshapes", {{-1, 8}}),
            "input 'x', dimension 0: the size is -1, expected a size of 0 or more");
  EXPECT_EQ(refusal("recurrent", {{10, 5, 3}}),
            "input 'x', dimension 0: the size is 10, expected a size between 1 and 9");
  EXPECT_EQ(refusal("reshapes", {{2, 8}, {1}}), "2 shapes are given for 1 inputs");
  EXPECT_EQ(refusal("nested", {{2, 4}, {3, 4}, {4}, {}, {}}).substr(0, 72),
            "input 'batch.parts.0', dimension 0: the size is 3, expected 2 (" +
                describe("nested").inputs[0].symbols[0] + " = 2 fr");
}

TEST(ImportShapes, RelatedSizes) {
  const std::string s = describe("related_sizes").inputs[0].symbols[0];
  EXPECT_EQ(refusal("related_sizes", {{4, 9}, {9}}),
            "input 'x', dimension 1: the size is 9, expected 8 (" + s +
                " = 4 from input 'x', dimension 0)");
  EXPECT_EQ(refusal("related_sizes", {{9, 18}, {19}}),
            "input 'x', dimension 0: the size is 9, expected a size between 1 and 8");
}

// Only "2*s" tells what s is: solved, and refused where no s does it.
TEST(ImportShapes, SolvesForASymbol) {
  ProgramFile file = read_program_file("reshapes");
  const std::string symbol = R"(Symbol('s77', positive=True, integer=True))";
  auto& size = file.program["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0]["as_expr"]
                           ["expr_str"];
  ASSERT_EQ(size, symbol);
  size = "Add(Mul(Integer(2), " + symbol + "), Integer(1))";
  EXPECT_EQ(import(file, {{9, 8}}).outputs.size(), 3U);  // s77 = 4
  EXPECT_EQ(refusal(file, {{8, 8}}), "input 'x', dimension 0: the size is 8, expected (2*s77) + 1");
}

// ---- programs that are not understood, or broken

TEST(ImportErrors, AnotherSchemaVersion) {
  ProgramFile file = read_program_file("tied");
  file.program["schema_version"]["major"] = 9;
  EXPECT_EQ(refusal(file, {}, ErrorKind::unsupported),
            "program JSON: the program is written in schema 9.17, lowwater reads schema 8; "
            "export the model with PyTorch 2.9 or newer");
}

TEST(ImportErrors, MissingWeight) {
  ProgramFile file = read_program_file("tied");
  file.weights.by_name.erase("embed.weight");
  EXPECT_EQ(refusal(file),
            "weight 'embed.weight': it is missing in the archive; save the model again");
}

TEST(ImportErrors, WeightOfAnotherSize) {
  ProgramFile file = read_program_file("tied");
  file.weights.weights[0].sizes[0] += 1;
  EXPECT_NE(
      refusal(file).find("the archive holds it with another type or size than the program reads"),
      std::string::npos);
}

nlohmann::json& node(ProgramFile& file, std::size_t index) {
  return file.program["graph_module"]["graph"]["nodes"][index];
}

TEST(ImportErrors, UnknownOperatorNamesNodeAndLine) {
  ProgramFile file = read_program_file("tied");
  node(file, 0)["target"] = "torch.ops.mylib.lookup.default";
  EXPECT_EQ(refusal(file, {}, ErrorKind::unsupported),
            "node 'embedding' (mylib::lookup), make_programs.py:" + std::to_string([&] {
              const std::string trace = node(file, 0)["metadata"]["stack_trace"];
              return std::stoi(trace.substr(trace.find("line ") + 5));
            }()) +
                " in forward (embed): the operator is not known to this PyTorch; load the library "
                "that defines it");
}

TEST(ImportErrors, ArgumentsThatTheOperatorDoesNotTake) {
  ProgramFile file = read_program_file("tied");
  auto& args = node(file, 0)["inputs"];
  args.push_back({{"name", "extra"}, {"arg", {{"as_int", 1}}}});
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("an argument is not known"),
            std::string::npos);
  args.erase(args.size() - 1);
  args[1]["arg"] = {{"as_string", "x"}};
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("argument 'indices' has another type"),
            std::string::npos);
  args[1]["arg"] = {{"as_custom_obj", {{"name", "o"}, {"class_fqn", "c"}}}};
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("is of kind as_custom_obj"),
            std::string::npos);
  args[1]["arg"] = {{"as_nested_tensors", nlohmann::json::array()}};
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("is of kind as_nested_tensors"),
            std::string::npos);
  args.erase(1);
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("argument 'indices' is missing"),
            std::string::npos);
}

TEST(ImportErrors, ValuesThatNothingDefines) {
  ProgramFile file = read_program_file("tied");
  std::swap(node(file, 0), node(file, 1));
  EXPECT_NE(refusal(file).find("reads 'embedding', which nothing defines before it"),
            std::string::npos);
}

// The node of "item" that computes k * 2.
nlohmann::json& multiplication(ProgramFile& file) {
  for (auto& candidate : file.program["graph_module"]["graph"]["nodes"]) {
    if (candidate["target"] == "_operator.mul") return candidate;
  }
  throw std::runtime_error("no multiplication");
}

TEST(ImportErrors, UnknownOperationOnNumbers) {
  ProgramFile file = read_program_file("item");
  multiplication(file)["target"] = "_operator.matmul";
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("(sym::matmul), make_programs.py"),
            std::string::npos);
}

// Known operands are computed even where the program does not say the result.
TEST(Import, FoldsOperationsOnKnownNumbers) {
  ProgramFile file = read_program_file("item");
  multiplication(file)["inputs"][0]["arg"] = {{"as_int", -7}};
  multiplication(file)["target"] = "_operator.floordiv";
  EXPECT_EQ(import(file).outputs.back().value, Arg(std::int64_t{-3}));  // -7 // 2 + 1
}

TEST(ImportErrors, ArithmeticNamesItsNode) {
  ProgramFile file = read_program_file("item");
  multiplication(file)["inputs"][0]["arg"] = {{"as_int", 1}};
  multiplication(file)["inputs"][1]["arg"] = {{"as_int", 0}};
  multiplication(file)["target"] = "_operator.mod";
  const std::string message = refusal(file);
  EXPECT_NE(message.find("(sym::mod)"), std::string::npos) << message;
  EXPECT_NE(message.find("division by zero"), std::string::npos) << message;
}

TEST(ImportErrors, ScriptObjectsAndTokens) {
  ProgramFile file = read_program_file("tied");
  file.program["graph_module"]["signature"]["input_specs"].push_back(
      {{"token", {{"arg", {{"name", "t"}}}}}});
  EXPECT_NE(refusal(file, {}, ErrorKind::unsupported).find("an input of kind 'token'"),
            std::string::npos);
}

TEST(ImportErrors, MalformedJson) {
  EXPECT_THROW(parse_program(""), Error);
  EXPECT_THROW(parse_program("{}"), Error);
  EXPECT_THROW(parse_program("[[[["), Error);
  EXPECT_THROW(parse_program("\xff\xfe"), Error);
  // Removing any one member is noticed, never fatal.
  const nlohmann::json whole = read_program_file("cond").program;
  for (const auto& pointer :
       {"/graph_module", "/graph_module/graph/nodes", "/graph_module/signature/input_specs",
        "/graph_module/graph/tensor_values", "/graph_module/module_call_graph",
        "/range_constraints", "/schema_version", "/graph_module/graph/inputs"}) {
    nlohmann::json broken = whole;
    const nlohmann::json::json_pointer at(pointer);
    broken.at(at.parent_pointer()).erase(at.back());
    EXPECT_THROW(parse_program(broken.dump()), Error) << pointer;
  }
}

TEST(ImportErrors, NestedTooDeeply) {
  ProgramFile file = read_program_file("cond");
  nlohmann::json graph = file.program["graph_module"]["graph"];
  for (int i = 0; i < 60; ++i) {
    nlohmann::json outer = file.program["graph_module"]["graph"];
    outer["nodes"][0]["inputs"][0]["arg"] = {{"as_graph", {{"name", "g"}, {"graph", graph}}}};
    graph = std::move(outer);
  }
  file.program["graph_module"]["graph"] = std::move(graph);
  EXPECT_NE(refusal(file).find("nested too deeply"), std::string::npos);
}

TEST(ImportErrors, HugeSizes) {
  ProgramFile file = read_program_file("tied");
  auto& sizes = file.program["graph_module"]["graph"]["tensor_values"]["embedding"]["sizes"];
  for (auto& size : sizes) size = {{"as_int", std::int64_t{1} << 40}};
  EXPECT_NE(refusal(file).find("a tensor of more than 2^63 bytes"), std::string::npos);
  sizes[0] = {{"as_int", -3}};
  EXPECT_NE(refusal(file).find("a negative size"), std::string::npos);
}

// ---- lines of the model

TEST(SourceLine, InnermostFrameOutsidePyTorch) {
  const std::string trace =
      "  File \"/home/me/net.py\", line 8, in forward\n    y = self.conv(x)\n"
      "  File \"/usr/lib/site-packages/torchvision/ops/misc.py\", line 20, in forward\n    return "
      "super().forward(x)\n"
      "  File \"/usr/lib/site-packages/torch/nn/modules/conv.py\", line 134, in forward\n    "
      "return F.conv2d(...)";
  const std::string stack =
      "L__self__,,__main__.M;L__self___a,a.0,misc.Conv;L__self___a_b,a.0.b@1,torch.nn.Conv2d";
  EXPECT_EQ(source_line(trace, stack), "misc.py:20 in forward (a.0.b@1)");
  EXPECT_EQ(source_line("", stack), "(a.0.b@1)");
  EXPECT_EQ(source_line(trace, ""), "misc.py:20 in forward");
  EXPECT_EQ(source_line("File \"<eval_with_key>.5\", line 9, in forward", ""), "");
  EXPECT_EQ(source_line("File \"/x/site-packages/torch/nn/conv.py\", line 9, in f", ""),
            "conv.py:9 in f");
}

TEST(OperatorName, Targets) {
  EXPECT_EQ(operator_name("torch.ops.aten.add.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(operator_name("torch.ops.aten.relu.default"), "aten::relu");
  EXPECT_EQ(operator_name("torch.ops.higher_order.cond"), "higher_order::cond");
  EXPECT_EQ(operator_name("_operator.and_"), "sym::and");
  EXPECT_EQ(operator_name("torch.sym_max"), "sym::max");
  EXPECT_EQ(operator_name("math.trunc"), "sym::trunc");
}

}  // namespace
}  // namespace lowwater
