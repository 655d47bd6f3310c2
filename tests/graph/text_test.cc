#include "graph/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lowwater/error.h"

namespace lowwater {
namespace {

// Sound texts in the printer's own spelling print back unchanged.
void expect_fixpoint(const std::string& text) {
  const Graph graph = parse_graph(text);
  EXPECT_EQ(lint(graph), std::vector<std::string>{});
  EXPECT_EQ(print_graph(graph), text);
  EXPECT_EQ(first_difference(graph, parse_graph(print_graph(graph))), "");
}

TEST(Text, TheExampleOfTheHeader) {
  expect_fixpoint(
      "graph(%x: f32[1,3,224,224], %w: weight 0 f32[64,3,7,7]):\n"
      "  %y: f32[1,64,112,112] = aten::conv2d(%x, %w, None, [2,2], [3,3], [1,1], 1)\n"
      "  %z: f32[1,64,112,112] = aten::relu(%y)\n"
      "  return (%z)\n");
}

TEST(Text, EverythingAtOnce) {
  expect_fixpoint(
      "graph(%x \"batch.image\": f32[2,3]{1,2}, %n: int, \"flag\" = True, %p: bool, "
      "%w: weight 3 f16[3] dynamic):\n"
      "  inputs ((0, {\"n\": 1}), {\"flag\": 2, \"p\": 3})\n"
      "  outputs {\"out\": 0, \"list\": [1, (2)]}\n"
      "  %a: f32[2,3], _, %b: i64[2] = aten::op.x(%x, %n) @\"model.py:42 in forward (a.b)\"\n"
      "  aten::_assert_async(%b)\n"
      "  %\"odd name\": real = \"odd op\"(%w) if not %p barrier\n"
      "  %c: bool = sym::and(%p, True) if %p @\"model.py:42 in forward (a.b)\"\n"
      "  return (%a, 7, None, weight 3 = %b, input 0 = %a)\n");
}

TEST(Text, EveryKindOfArgument) {
  expect_fixpoint(
      "graph(%x: f32[2], %n: int):\n"
      "  aten::none(None, absent, %x)\n"
      "  aten::bools(True, False, [True, False], bools[])\n"
      "  aten::ints(-1, 0, [-1,2], [], 9223372036854775807, -9223372036854775808)\n"
      "  aten::reals(1.0, -0.0, 0.1, 1e-05, 1e+300, 5e-324, inf, -inf, nan, [1.5, inf, -inf, nan], "
      "reals[])\n"
      "  aten::complex(complex(1.0, -inf), complex(-0.0, nan))\n"
      "  aten::strings(\"\", \"a\\\"b\\\\c\\n\\x00\\x7f\", \"\xc3\xa4\")\n"
      "  aten::refs([%x, None, %x], [None], refs[])\n"
      "  aten::mixed(mixed[1, %n=8], mixed[])\n"
      "  aten::numbers(number(True), number(3), number(0.5), number(complex(0.0, 1.0)))\n"
      "  aten::enums(f32, bool, f8_e4m3fn, contiguous, channels_last, channels_last_3d, preserve, "
      "strided, plan_device, host)\n"
      "  return ()\n");
}

TEST(Text, ArgumentsKeepTheirTypes) {
  const Graph graph = parse_graph(
      "graph(%x: f32[2]): a::b(1, 1.0, True, number(1), [], reals[], bools[], refs[], mixed[], "
      "bool, \"f32\", -inf) return ()");
  const std::vector<Arg> expected = {std::int64_t{1},
                                     1.0,
                                     true,
                                     WrappedNumber{std::int64_t{1}},
                                     std::vector<std::int64_t>{},
                                     std::vector<double>{},
                                     std::vector<bool>{},
                                     RefList{},
                                     MixedInts{},
                                     DType::boolean,
                                     std::string("f32"),
                                     -HUGE_VAL};
  EXPECT_EQ(graph.node(0).args, expected);
}

TEST(Text, Types) {
  Type type;
  type.sizes = {2, 3};
  type.strides = {3, 1};
  EXPECT_EQ(print_type(type), "f32[2,3]");
  type.strides = {1, 2};
  EXPECT_EQ(print_type(type), "f32[2,3]{1,2}");
  type.strides = {};
  EXPECT_EQ(print_type(type), "f32[2,3]{}");
  type = {};
  EXPECT_EQ(print_type(type), "f32[]");
  type.dtype = DType::boolean;
  type.dynamic = true;
  EXPECT_EQ(print_type(type), "bool[] dynamic");
  type = {};
  type.kind = TypeKind::boolean;
  EXPECT_EQ(print_type(type), "bool");
}

TEST(Text, BlanksAndCommentsDoNotMatter) {
  const Graph graph = parse_graph(
      "# a comment\ngraph ( %x : f32 [ 2 , 3 ] ) :  # the signature\n\n\n"
      "  %y : f32[2,3] =\n\taten::relu (\r\n %x )   # one node\n return ( %y )\n# end");
  EXPECT_EQ(print_graph(graph),
            "graph(%x: f32[2,3]):\n  %y: f32[2,3] = aten::relu(%x)\n  return (%y)\n");
}

TEST(Text, DefaultStructures) {
  const Graph two = parse_graph("graph(%x: f32[], %y: f32[]): return (%x, %y)");
  EXPECT_EQ(two.input_structure, flat_input_structure(2));
  EXPECT_EQ(two.output_structure.kind, Structure::Kind::tuple);
  EXPECT_EQ(two.output_structure.children.size(), 2U);
  const Graph one = parse_graph("graph(%x: f32[]): return (%x, input 0 = %x)");
  EXPECT_EQ(one.output_structure.kind, Structure::Kind::leaf);
  // A tuple of one is not a bare value.
  expect_fixpoint("graph(%x: f32[]):\n  outputs (0)\n  return (%x)\n");
}

TEST(Text, PrintNodeAndArg) {
  const Graph graph = parse_graph("graph(%x: f32[2]): %y: f32[2] = aten::relu(%x) return (%y)");
  EXPECT_EQ(print_node(graph, 0), "%y: f32[2] = aten::relu(%x)");
  EXPECT_EQ(print_arg(graph, Ref{1}), "%y");
  EXPECT_EQ(print_arg(graph, Arg(2.0)), "2.0");
}

struct BadText {
  const char* text;
  const char* error;
};

class TextErrors : public testing::TestWithParam<BadText> {};

TEST_P(TextErrors, NameLineColumnAndCause) {
  try {
    parse_graph(GetParam().text);
    FAIL() << "accepted: " << GetParam().text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_STREQ(error.what(), GetParam().error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TextErrors,
    testing::Values(
        BadText{"", "line 1, column 1: expected 'graph'"},
        BadText{"graph(%x: f32[2]", "line 1, column 17: expected ')'"},
        BadText{"graph(%x f32[2])", "line 1, column 10: expected ':'"},
        BadText{"graph(%: f32)", "line 1, column 7: a value needs a name after '%'"},
        BadText{"graph(%x: f33[2])", "line 1, column 11: 'f33' is not a type"},
        BadText{"graph(%x: f32)", "line 1, column 11: 'f32' is not a type"},
        BadText{"graph(%x: f32[2], %x: f32[3])", "line 1, column 19: %x is already defined"},
        BadText{"graph(%w: weight -1 f32[2])", "line 1, column 18: '-1' is not an index"},
        BadText{"graph(%x: f32[1.5])", "line 1, column 15: expected an integer"},
        BadText{"graph(%x: f32[99999999999999999999])",
                "line 1, column 15: '99999999999999999999' is not a 64-bit integer"},
        BadText{"graph(%x: f32[9999999999,9999999999])",
                "line 1, column 11: the sizes are negative or too large"},
        BadText{"graph():\n  %y: f32[2] = aten::relu(%x)\n",
                "line 2, column 27: %x is not defined"},
        BadText{"graph():\n  %y: f32[2] = aten::relu(%y)\n",
                "line 2, column 27: %y is not defined"},
        BadText{"graph():\n  relu()\n", "line 2, column 3: 'relu' is not an operator"},
        BadText{"graph():\n  (", "line 2, column 3: expected an operator or 'return'"},
        BadText{"graph():\n  a::b(\n    foo)", "line 3, column 5: 'foo' is not an argument"},
        BadText{"graph(): a::b(foo[])", "line 1, column 15: 'foo' is not a list"},
        BadText{"graph(): a::b([1, 2.0])", "line 1, column 19: expected an integer"},
        BadText{"graph(): a::b([True, 1])", "line 1, column 22: expected True or False"},
        BadText{"graph(): a::b(1e999)", "line 1, column 15: '1e999' is not a real number"},
        BadText{"graph(): a::b(1.2.3)", "line 1, column 15: '1.2.3' is not a real number"},
        BadText{"graph(): a::b(12ab)", "line 1, column 15: malformed number"},
        BadText{"graph(): a::b(-infinite)", "line 1, column 15: '-infinite' is not a number"},
        BadText{"graph(): a::b(number(\"x\"))", "line 1, column 22: expected a number"},
        BadText{"graph(): a::b(\"x", "line 1, column 15: the string is not closed"},
        BadText{"graph(): a::b(\"x\ny\")", "line 1, column 15: the string is not closed"},
        BadText{"graph(): a::b(\"\\q\")", "line 1, column 15: unknown escape in the string"},
        BadText{"graph(): a::b(\"\\x1\")", "line 1, column 15: \\x needs two hexadecimal digits"},
        BadText{"graph(): a::b($)", "line 1, column 15: unexpected character"},
        BadText{"graph(): return () x", "line 1, column 20: text after the graph"},
        BadText{"graph():\n  a::b()\n", "line 3, column 1: expected an operator or 'return'"}));

TEST(Text, DeepStructuresAreRefused) {
  const std::string text = "graph(): outputs " + std::string(100000, '[');
  EXPECT_THROW(parse_graph(text), Error);
}

}  // namespace
}  // namespace lowwater
