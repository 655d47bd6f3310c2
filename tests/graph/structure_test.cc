#include "graph/structure.h"

#include <gtest/gtest.h>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using Names = std::vector<std::string>;

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string quoted(const std::string& context) {
  std::string text = "\"";
  for (const char c : context) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string container(const std::string& type, const std::string& context,
                      const std::vector<std::string>& children) {
  std::string list;
  for (const std::string& child : children) list += (list.empty() ? "" : ", ") + child;
  return R"({"type": ")" + type + R"(", "context": )" + quoted(context) +
         R"(, "children_spec": [)" + list + "]}";
}

Structure parse(const std::string& node, const NamedTuples& tuples = {}) {
  return parse_structure("[1, " + node + "]", tuples);
}
Names paths(const std::string& node, const NamedTuples& tuples = {}) {
  return leaf_paths(parse(node, tuples));
}

TEST(Structure, Leaf) {
  const Structure leaf = parse(kLeaf);
  EXPECT_EQ(leaf.kind, Structure::Kind::leaf);
  EXPECT_EQ(count_leaves(leaf), 1);
  EXPECT_EQ(leaf_paths(leaf), (Names{""}));
}

TEST(Structure, LeavesAreNumberedInOrder) {
  const Structure tree = parse(container(
      "builtins.tuple", "null", {kLeaf, container("builtins.list", "null", {kLeaf, kLeaf})}));
  EXPECT_EQ(tree.kind, Structure::Kind::tuple);
  EXPECT_EQ(tree.children[1].kind, Structure::Kind::list);
  EXPECT_EQ(tree.children[1].children[1].leaf, 2);
  EXPECT_EQ(leaf_paths(tree), (Names{"0", "1.0", "1.1"}));
}

TEST(Structure, EverythingWithFieldNamesIsADict) {
  EXPECT_EQ(paths(container("builtins.dict", R"(["b", "a"])", {kLeaf, kLeaf})), (Names{"b", "a"}));
  EXPECT_EQ(paths(container("builtins.dict", "[7, true]", {kLeaf, kLeaf})), (Names{"7", "True"}));
  EXPECT_EQ(paths(container("collections.OrderedDict", R"(["u"])", {kLeaf})), (Names{"u"}));
  EXPECT_EQ(paths(container("collections.defaultdict",
                            R"({"default_factory_name": "list", "dict_context": ["k"]})", {kLeaf})),
            (Names{"k"}));
  EXPECT_EQ(paths(container("lib.ModelOutput", R"(["logits", "past"])", {kLeaf, kLeaf})),
            (Names{"logits", "past"}));
  EXPECT_EQ(paths(container("DataClass", R"([["x"], ["unset"]])", {kLeaf})), (Names{"x"}));
  EXPECT_EQ(
      paths(container("collections.namedtuple", "Pair", {kLeaf, kLeaf}), {{"Pair", {"p", "q"}}}),
      (Names{"p", "q"}));
}

TEST(Structure, UnknownContainersAreTuples) {
  const Structure tree = parse(container("lib.Thing", "not json", {kLeaf, kLeaf}));
  EXPECT_EQ(tree.kind, Structure::Kind::tuple);
  EXPECT_EQ(leaf_paths(tree), (Names{"0", "1"}));
  EXPECT_EQ(paths(container("collections.deque", "null", {kLeaf})), (Names{"0"}));
}

TEST(Structure, EqualPathsGetASuffix) {
  const std::string inner = container("builtins.dict", R"(["b"])", {kLeaf});
  EXPECT_EQ(paths(container("builtins.dict", R"(["a.b", "a"])", {kLeaf, inner})),
            (Names{"a.b", "a.b_2"}));
}

TEST(Structure, InputNames) {
  const std::string args =
      container("builtins.tuple", "null", {kLeaf, container("builtins.list", "null", {kLeaf})});
  const std::string kwargs = container("builtins.dict", R"(["mask"])", {kLeaf});
  const Structure inputs = parse(container("builtins.tuple", "null", {args, kwargs}));
  EXPECT_EQ(input_paths(inputs, {"x", "parts", "mask"}), (Names{"x", "parts.0", "mask"}));
  EXPECT_EQ(input_paths(inputs, {}), (Names{"args.0", "args.1.0", "mask"}));
  EXPECT_EQ(input_paths(inputs, {"x", "args_0"}), (Names{"x", "args.0.0", "mask"}));
  EXPECT_THROW(input_paths(parse(kLeaf), {}), Error);
}

TEST(Structure, MalformedTexts) {
  for (const char* text : {"", "x", "[]", "[1]", "[1, 2]", "[1, {}]",
                           R"([1, {"type": 3, "context": null, "children_spec": []}])",
                           R"([1, {"type": "a", "context": "null"}])"}) {
    EXPECT_THROW(parse_structure(text, {}), Error) << text;
  }
  EXPECT_THROW(parse(container("builtins.dict", R"(["a"])", {kLeaf, kLeaf})), Error);
  EXPECT_THROW(parse(container("collections.namedtuple", "Pair", {kLeaf}), {{"Pair", {"p", "q"}}}),
               Error);
  EXPECT_THROW(parse_structure("[2, " + kLeaf + "]", {}), Error);
}

TEST(Structure, HostileNestingIsRefused) {
  std::string node = kLeaf;
  for (int i = 0; i < 100; ++i) node = container("builtins.tuple", "null", {node});
  EXPECT_THROW(parse(node), Error);
}

}  // namespace
}  // namespace lowwater
