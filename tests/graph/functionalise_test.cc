#include "graph/functionalise.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "graph/text.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

const SchemaTable& schemas() {
  static const SchemaTable table = [] {
    std::ifstream file(LOWWATER_TEST_DATA "/schemas.json");
    std::stringstream text;
    text << file.rdbuf();
    return schema_table_from_json(text.str());
  }();
  return table;
}

// The body after functionalisation, one node per line, without indentation.
std::string functional(const std::string& text) {
  Graph graph = parse_graph(text);
  functionalise(graph, schemas());
  EXPECT_EQ(lint(graph), std::vector<std::string>{}) << print_graph(graph);
  std::string out = print_graph(graph);
  out.erase(0, out.find('\n') + 1);
  std::string lines;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) lines += line.substr(2) + "\n";
  return lines;
}

TEST(Functionalise, PureGraphsStayAsTheyAre) {
  const std::string text =
      "graph(%x: f32[2,3]):\n"
      "  %v: f32[3,2]{1,3} = aten::t(%x)\n"
      "  %y: f32[3,2] = aten::relu(%v)\n"
      "  return (%y, %v, %x)\n";
  Graph graph = parse_graph(text);
  functionalise(graph, schemas());
  EXPECT_EQ(print_graph(graph), text);
}

// traps 13: a = conv1(x); b = relu_(a); return a + conv2(b)
TEST(Functionalise, InPlaceReluChangesItsOperandToo) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[1,4,8,8], %w: weight 0 f32[4,4,1,1]):
      %a: f32[1,4,8,8] = aten::conv2d(%x, %w, None, [1,1], [0,0], [1,1], 1)
      %b: f32[1,4,8,8] = aten::relu_(%a)
      %c: f32[1,4,8,8] = aten::conv2d(%b, %w, None, [1,1], [0,0], [1,1], 1)
      %d: f32[1,4,8,8] = aten::add.Tensor(%a, %c, 1)
      return (%d)
  )"),
            "%a: f32[1,4,8,8] = aten::conv2d(%x, %w, None, [1,1], [0,0], [1,1], 1)\n"
            "%b: f32[1,4,8,8] = aten::relu(%a)\n"
            "%c: f32[1,4,8,8] = aten::conv2d(%b, %w, None, [1,1], [0,0], [1,1], 1)\n"
            "%d: f32[1,4,8,8] = aten::add.Tensor(%b, %c, 1)\n"
            "return (%d)\n");
}

TEST(Functionalise, ResidualIntoAnInputThatIsReturned) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[4], %y: f32[4]):
      %z: f32[4] = aten::add_.Tensor(%x, %y, 1)
      %r: f32[4] = aten::mul.Tensor(%x, %y)
      return (%x, %z, %r)
  )"),
            "%z: f32[4] = aten::add.Tensor(%x, %y, 1)\n"
            "%r: f32[4] = aten::mul.Tensor(%z, %y)\n"
            "return (%z, %z, %r, input 0 = %z)\n");
}

// traps 14: x.view(3,2,-1).add_(2.0); return x
TEST(Functionalise, WriteThroughAViewOfAnInput) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[6,4]):
      %v: f32[3,2,4] = aten::view(%x, [3,2,-1])
      %w: f32[3,2,4] = aten::add_.Tensor(%v, number(2.0), 1)
      return (%x)
  )"),
            "%v: f32[3,2,4] = aten::view(%x, [3,2,-1])\n"
            "%w: f32[3,2,4] = aten::add.Tensor(%v, number(2.0), 1)\n"
            "%x.1: f32[6,4] = aten::reshape(%w, [6,4])\n"
            "return (%x.1, input 0 = %x.1)\n");
}

// traps 14: y[:, ::2].mul_(0)
TEST(Functionalise, WriteToEverySecondColumn) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[2,5]):
      %y: f32[2,5] = aten::mul.Tensor(%x, number(2))
      %s: f32[2,3]{5,2} = aten::slice.Tensor(%y, 1, 0, 9223372036854775807, 2)
      _ = aten::mul_.Tensor(%s, number(0))
      return (%y, %s)
  )"),
            "%y: f32[2,5] = aten::mul.Tensor(%x, number(2))\n"
            "%s: f32[2,3]{5,2} = aten::slice.Tensor(%y, 1, 0, 9223372036854775807, 2)\n"
            "%s.1: f32[2,3]{5,2} = aten::mul.Tensor(%s, number(0))\n"
            "%y.1: f32[2,5] = aten::slice_scatter(%y, %s.1, 1, 0, 9223372036854775807, 2)\n"
            "return (%y.1, %s.1)\n");
}

// traps 14: torch.split, in-place on one part; the other part is read from the new base.
TEST(Functionalise, WriteToOnePartOfASplit) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[5,2]):
      %y: f32[5,2] = aten::neg(%x)
      %a: f32[2,2], %b: f32[2,2], %c: f32[1,2] = aten::split.Tensor(%y, 2, 0)
      %d: f32[2,2] = aten::relu_(%b)
      %e: f32[2,2] = aten::add.Tensor(%a, %b, 1)
      return (%e, %y)
  )"),
            "%y: f32[5,2] = aten::neg(%x)\n"
            "%a: f32[2,2], %b: f32[2,2], %c: f32[1,2] = aten::split.Tensor(%y, 2, 0)\n"
            "%d: f32[2,2] = aten::relu(%b)\n"
            "%y.1: f32[5,2] = aten::slice_scatter(%y, %d, 0, 2, 4, 1)\n"
            "%a.1: f32[2,2], _, _ = aten::split.Tensor(%y.1, 2, 0)\n"
            "%e: f32[2,2] = aten::add.Tensor(%a.1, %d, 1)\n"
            "return (%e, %y.1)\n");
}

TEST(Functionalise, OtherWaysToCutAreScattersToo) {
  const auto scatter = [](const std::string& view, const std::string& results) {
    const std::string body =
        functional("graph(%x: f32[6,4]):\n %y: f32[6,4] = aten::neg(%x)\n " + results + " = " +
                   view + "\n _ = aten::zero_(%b)\n return (%y)");
    const std::size_t line = body.find("%y.1");
    return body.substr(line, body.find('\n', line) - line);
  };
  EXPECT_EQ(scatter("aten::chunk(%y, 4, 0)", "%a: f32[2,4], %b: f32[2,4], %c: f32[2,4]"),
            "%y.1: f32[6,4] = aten::slice_scatter(%y, %b.1, 0, 2, 4, 1)");
  EXPECT_EQ(scatter("aten::split_with_sizes(%y, [1,3], -1)", "_, %b: f32[6,3]{4,1}"),
            "%y.1: f32[6,4] = aten::slice_scatter(%y, %b.1, 1, 1, 4, 1)");
  EXPECT_EQ(scatter("aten::unbind.int(%y, 1)", "_, _, %b: f32[6]{4}, _"),
            "%y.1: f32[6,4] = aten::select_scatter(%y, %b.1, 1, 2)");
  EXPECT_EQ(scatter("aten::narrow(%y, 0, -2, 2)", "%b: f32[2,4]"),
            "%y.1: f32[6,4] = aten::slice_scatter(%y, %b.1, 0, 4, 6, 1)");
  EXPECT_EQ(scatter("aten::select.int(%y, 0, -1)", "%b: f32[4]"),
            "%y.1: f32[6,4] = aten::select_scatter(%y, %b.1, 0, -1)");
  EXPECT_EQ(scatter("aten::diagonal(%y, 1, 0, 1)", "%b: f32[3]{5}"),
            "%y.1: f32[6,4] = aten::diagonal_scatter(%y, %b.1, 1, 0, 1)");
  EXPECT_EQ(scatter("aten::as_strided(%y, [3], [5], 1)", "%b: f32[3]{5}"),
            "%y.1: f32[6,4] = aten::as_strided_scatter(%y, %b.1, [3], [5], 1)");
}

TEST(Functionalise, ViewsOfAllElementsAreInverted) {
  const auto inverse = [](const std::string& view, const std::string& type) {
    const std::string body =
        functional("graph(%x: f32[2,1,3]):\n %y: f32[2,1,3] = aten::neg(%x)\n %b: " + type + " = " +
                   view + "\n _ = aten::zero_(%b)\n return (%y)");
    const std::size_t line = body.find("%y.1");
    return body.substr(line + 19, body.find('\n', line) - line - 19);
  };
  EXPECT_EQ(inverse("aten::permute(%y, [2,0,1])", "f32[3,2,1]{1,3,3}"),
            "aten::permute(%b.1, [1,2,0])");
  EXPECT_EQ(inverse("aten::transpose.int(%y, 0, -1)", "f32[3,1,2]{1,3,3}"),
            "aten::transpose.int(%b.1, 0, -1)");
  EXPECT_EQ(inverse("aten::unsqueeze(%y, 0)", "f32[1,2,1,3]"), "aten::reshape(%b.1, [2,1,3])");
  EXPECT_EQ(inverse("aten::squeeze.dim(%y, 1)", "f32[2,3]"), "aten::reshape(%b.1, [2,1,3])");
  EXPECT_EQ(inverse("aten::alias(%y)", "f32[2,1,3]"), "aten::alias(%b.1)");
  EXPECT_EQ(inverse("aten::view.dtype(%y, i32)", "i32[2,1,3]"), "aten::view.dtype(%b.1, f32)");
  EXPECT_EQ(inverse("aten::dropout(%y, 0.5, False)", "f32[2,1,3]"), "aten::alias(%b.1)");
}

TEST(Functionalise, ChainsOfViewsAreCarriedToTheBase) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[4,6]):
      %y: f32[4,6] = aten::neg(%x)
      %t: f32[6,4]{1,6} = aten::t(%y)
      %s: f32[4]{6} = aten::select.int(%t, 0, 2)
      %u: f32[2]{6} = aten::slice.Tensor(%s, 0, 1, 3, 1)
      _ = aten::fill_.Scalar(%u, 7)
      %r: f32[4] = aten::mul.Tensor(%s, %s)
      return (%y, %r)
  )"),
            "%y: f32[4,6] = aten::neg(%x)\n"
            "%t: f32[6,4]{1,6} = aten::t(%y)\n"
            "%s: f32[4]{6} = aten::select.int(%t, 0, 2)\n"
            "%u: f32[2]{6} = aten::slice.Tensor(%s, 0, 1, 3, 1)\n"
            "%u.1: f32[2]{6} = aten::fill.Scalar(%u, 7)\n"
            "%s.1: f32[4]{6} = aten::slice_scatter(%s, %u.1, 0, 1, 3, 1)\n"
            "%t.1: f32[6,4]{1,6} = aten::select_scatter(%t, %s.1, 0, 2)\n"
            "%y.1: f32[4,6] = aten::permute(%t.1, [1,0])\n"
            "%r: f32[4] = aten::mul.Tensor(%s.1, %s.1)\n"
            "return (%y.1, %r)\n");
}

TEST(Functionalise, TwoWritesThroughDifferentViews) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[4]):
      %y: f32[4] = aten::neg(%x)
      %a: f32[2] = aten::slice.Tensor(%y, 0, 0, 2, 1)
      %b: f32[2] = aten::slice.Tensor(%y, 0, 1, 3, 1)
      _ = aten::zero_(%a)
      _ = aten::add_.Tensor(%b, %a, 1)
      return (%a, %b)
  )"),
            "%y: f32[4] = aten::neg(%x)\n"
            "%a: f32[2] = aten::slice.Tensor(%y, 0, 0, 2, 1)\n"
            "%b: f32[2] = aten::slice.Tensor(%y, 0, 1, 3, 1)\n"
            "%a.1: f32[2] = aten::zero(%a)\n"
            "%y.1: f32[4] = aten::slice_scatter(%y, %a.1, 0, 0, 2, 1)\n"
            "%b.1: f32[2] = aten::slice.Tensor(%y.1, 0, 1, 3, 1)\n"
            "%b.2: f32[2] = aten::add.Tensor(%b.1, %a.1, 1)\n"
            "%y.2: f32[4] = aten::slice_scatter(%y.1, %b.2, 0, 1, 3, 1)\n"
            "%a.2: f32[2] = aten::slice.Tensor(%y.2, 0, 0, 2, 1)\n"
            "return (%a.2, %b.2)\n");
}

TEST(Functionalise, MutatedBuffersBecomeOutputs) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[3], %n: weight 2 i64[], %m: weight 5 f32[3]):
      %i: i64[] = aten::add_.Tensor(%n, number(1), 1)
      _ = aten::copy_(%m, %x, False)
      %y: f32[3] = aten::add.Tensor(%m, %i, 1)
      return (%y)
  )"),
            "%i: i64[] = aten::add.Tensor(%n, number(1), 1)\n"
            "%m.1: f32[3] = aten::copy(%m, %x, False)\n"
            "%y: f32[3] = aten::add.Tensor(%m.1, %i, 1)\n"
            "return (%y, weight 2 = %i, weight 5 = %m.1)\n");
}

TEST(Functionalise, AMutationThatExportNamedIsNotRepeated) {
  EXPECT_EQ(functional(R"(
    graph(%n: weight 2 i64[]):
      %i: i64[] = aten::add_.Tensor(%n, number(1), 1)
      return (%i, weight 2 = %n)
  )"),
            "%i: i64[] = aten::add.Tensor(%n, number(1), 1)\n"
            "return (%i, weight 2 = %i)\n");
}

// traps 17: reshape is a view of contiguous tensors only.
TEST(Functionalise, ReshapeIsAViewOnlyWhereItDoesNotCopy) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[2,3]):
      %y: f32[2,3] = aten::neg(%x)
      %t: f32[3,2]{1,3} = aten::t(%y)
      %copy: f32[6] = aten::reshape(%t, [-1])
      %view: f32[6] = aten::reshape(%y, [-1])
      _ = aten::zero_(%copy)
      _ = aten::neg_(%view)
      return (%y)
  )"),
            "%y: f32[2,3] = aten::neg(%x)\n"
            "%t: f32[3,2]{1,3} = aten::t(%y)\n"
            "%copy: f32[6] = aten::reshape(%t, [-1])\n"
            "%view: f32[6] = aten::reshape(%y, [-1])\n"
            "%copy.1: f32[6] = aten::zero(%copy)\n"
            "%view.1: f32[6] = aten::neg(%view)\n"
            "%y.1: f32[2,3] = aten::reshape(%view.1, [2,3])\n"
            "return (%y.1)\n");
}

TEST(Functionalise, ConversionsAreViewsOnlyWhereTheyDoNothing) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[2]):
      %y: f32[2] = aten::neg(%x)
      %same: f32[2] = aten::to.dtype(%y, f32, False, False, None)
      %copy: f32[2] = aten::to.dtype(%y, f32, False, True, None)
      %half: f16[2] = aten::to.dtype(%y, f16, False, False, None)
      _ = aten::zero_(%copy)
      _ = aten::zero_(%half)
      _ = aten::zero_(%same)
      return (%y)
  )"),
            "%y: f32[2] = aten::neg(%x)\n"
            "%same: f32[2] = aten::to.dtype(%y, f32, False, False, None)\n"
            "%copy: f32[2] = aten::to.dtype(%y, f32, False, True, None)\n"
            "%half: f16[2] = aten::to.dtype(%y, f16, False, False, None)\n"
            "%copy.1: f32[2] = aten::zero(%copy)\n"
            "%half.1: f16[2] = aten::zero(%half)\n"
            "%same.1: f32[2] = aten::zero(%same)\n"
            "%y.1: f32[2] = aten::alias(%same.1)\n"
            "return (%y.1)\n");
}

TEST(Functionalise, TheOperandKeepsItsElementType) {
  EXPECT_EQ(functional(R"(
    graph(%h: f16[2], %f: f32[2], %s: f32[]):
      %a: f16[2] = aten::add_.Tensor(%h, %f, 1)
      %b: f16[2] = aten::mul_.Tensor(%a, %s)
      %c: f32[2] = aten::gt_.Scalar(%f, 0)
      %d: f16[2] = aten::copy_(%h, %f, False)
      return (%b, %c)
  )"),
            "%h.1: f32[2] = aten::add.Tensor(%h, %f, 1)\n"
            "%a: f16[2] = aten::_to_copy(%h.1, f16, None, None, None, False, None)\n"
            "%b: f16[2] = aten::mul.Tensor(%a, %s)\n"
            "%f.1: bool[2] = aten::gt.Scalar(%f, 0)\n"
            "%c: f32[2] = aten::_to_copy(%f.1, f32, None, None, None, False, None)\n"
            "%d: f16[2] = aten::copy(%b, %c, False)\n"
            "return (%d, %c, input 0 = %d, input 1 = %c)\n");
}

TEST(Functionalise, RandomOperatorsHaveTwinsOfOtherNames) {
  EXPECT_EQ(functional(R"(
    graph():
      %x: f32[2] = aten::zeros([2], None, None, None, None)
      _ = aten::normal_(%x, 0.0, 1.0, None)
      %b: f32[2] = aten::bernoulli_.float(%x, 0.5, None)
      return (%x)
  )"),
            "%x: f32[2] = aten::zeros([2], None, None, None, None)\n"
            "%x.1: f32[2] = aten::normal_functional(%x, 0.0, 1.0, None)\n"
            "%b: f32[2] = aten::bernoulli.p(%x.1, 0.5, None)\n"
            "return (%b)\n");
}

// No functional form: the operator runs as it is, on true views, in order.
TEST(Functionalise, WhatCannotBeMadeFunctionalIsABarrier) {
  SchemaTable table = schemas();
  Schema custom = *table.find("aten::relu_");
  custom.name = "my::write_";
  table.schemas.emplace(custom.name, custom);
  Graph graph = parse_graph(R"(
    graph(%x: f32[4]):
      %y: f32[4] = aten::neg(%x)
      %a: f32[2] = aten::slice.Tensor(%y, 0, 0, 2, 1)
      _ = aten::zero_(%a)
      %b: f32[2] = my::write_(%a)
      %z: f32[2] = aten::neg(%b)
      %c: f32[4] = my::write_(%x)
      return (%y, %z, %c)
  )");
  functionalise(graph, table);
  EXPECT_EQ(lint(graph), std::vector<std::string>{});
  EXPECT_EQ(print_graph(graph),
            "graph(%x: f32[4]):\n"
            "  %y: f32[4] = aten::neg(%x)\n"
            "  %a: f32[2] = aten::slice.Tensor(%y, 0, 0, 2, 1)\n"
            "  %a.1: f32[2] = aten::zero(%a)\n"
            "  %y.1: f32[4] = aten::slice_scatter(%y, %a.1, 0, 0, 2, 1)\n"
            "  %a.2: f32[2] = aten::slice.Tensor(%y.1, 0, 0, 2, 1)\n"
            "  %b: f32[2] = my::write_(%a.2) barrier\n"
            "  %a.3: f32[2] = aten::slice.Tensor(%y.1, 0, 0, 2, 1)\n"
            "  %z: f32[2] = aten::neg(%a.3)\n"
            "  %x.1: f32[4] = aten::clone(%x, None)\n"
            "  %c: f32[4] = my::write_(%x.1) barrier\n"
            "  return (%y.1, %z, %x.1, input 0 = %x.1)\n");
}

TEST(Functionalise, AViewWithoutInverseIsWrittenBehindABarrier) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[6]):
      %y: f32[6] = aten::neg(%x)
      %u: f32[3,2]{2,1} = aten::unfold(%y, 0, 2, 2)
      _ = aten::relu_(%u)
      return (%y)
  )"),
            "%y: f32[6] = aten::neg(%x)\n"
            "%u: f32[3,2] = aten::unfold(%y, 0, 2, 2)\n"
            "%u.1: f32[3,2] = aten::unfold(%y, 0, 2, 2)\n"
            "_ = aten::relu_(%u.1) barrier\n"
            "return (%y)\n");
}

TEST(Functionalise, DetachIsNothing) {
  EXPECT_EQ(functional("graph(%x: f32[2]): %y: f32[2] = aten::neg(%x)\n"
                       "%d: f32[2] = aten::detach_(%y)\n"
                       "%r: f32[2] = aten::relu_(%d) return (%y)"),
            "%y: f32[2] = aten::neg(%x)\n"
            "%d: f32[2] = aten::alias(%y)\n"
            "%r: f32[2] = aten::relu(%y)\n"
            "return (%r)\n");
}

TEST(Functionalise, IndexPutReadsItsIndicesBeforeItWrites) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[4], %i: i64[2]):
      %y: f32[4] = aten::neg(%x)
      %v: f32[2] = aten::slice.Tensor(%y, 0, 0, 2, 1)
      _ = aten::index_put_(%y, [%i], %v, False)
      return (%y, %v)
  )"),
            "%y: f32[4] = aten::neg(%x)\n"
            "%v: f32[2] = aten::slice.Tensor(%y, 0, 0, 2, 1)\n"
            "%y.1: f32[4] = aten::index_put(%y, [%i], %v, False)\n"
            "%v.1: f32[2] = aten::slice.Tensor(%y.1, 0, 0, 2, 1)\n"
            "return (%y.1, %v.1)\n");
}

void expect_refused(const std::string& text, const std::string& message) {
  Graph graph = parse_graph(text);
  try {
    functionalise(graph, schemas());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.message(), message);
    EXPECT_EQ(error.where(), "m.py:3");
  }
}

TEST(Functionalise, OverlappingElementsAreRefused) {
  expect_refused(R"(
    graph(%x: f32[1,3]):
      %e: f32[2,3]{0,1} = aten::expand(%x, [2,3], False)
      _ = aten::relu_(%e) @"m.py:3"
      return (%x)
  )",
                 "aten::relu_ writes %e whose elements overlap");
  expect_refused(R"(
    graph(%x: f32[4]):
      %e: f32[3,2]{1,1} = aten::as_strided(%x, [3,2], [1,1], 0)
      _ = aten::relu_(%e) @"m.py:3"
      return (%x)
  )",
                 "aten::relu_ writes %e whose elements overlap");
}

TEST(Functionalise, ChangesOfShapeInPlaceAreRefused) {
  expect_refused("graph(%x: f32[4]): _ = aten::unsqueeze_(%x, 0) @\"m.py:3\" return (%x)",
                 "aten::unsqueeze_ changes the shape of its operand");
}

TEST(Functionalise, WritesInABranchStayInTheBranch) {
  EXPECT_EQ(functional(R"(
    graph(%x: f32[4], %p: bool):
      %y: f32[4] = aten::neg(%x) if not %p
      _ = aten::relu_(%y) if not %p
      %z: f32[4] = aten::neg(%y) if not %p
      return (%z)
  )"),
            "%y: f32[4] = aten::neg(%x) if not %p\n"
            "%y.1: f32[4] = aten::relu(%y) if not %p\n"
            "%z: f32[4] = aten::neg(%y.1) if not %p\n"
            "return (%z)\n");
  expect_refused("graph(%x: f32[4], %p: bool): _ = aten::relu_(%x) if %p @\"m.py:3\" return (%x)",
                 "aten::relu_ writes %x in a branch of torch.cond");
}

}  // namespace
}  // namespace lowwater
