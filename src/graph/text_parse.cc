// Recursive descent over the grammar in docs/ir.md.
#include <fmt/format.h>

#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/text.h"
#include "graph/text_lexer.h"
#include "graph/text_names.h"

namespace lowwater {
namespace {

using Kind = Token::Kind;

// Structures may nest this deep: text from outside must not exhaust the stack.
constexpr int kMaxDepth = 100;

class Parser : private TokenReader {
 public:
  explicit Parser(std::string_view text) : TokenReader(text) {}

  Graph run() {
    expect_word("graph");
    parse_signature();
    expect(":");
    if (accept_word("inputs")) {
      graph_.input_structure = parse_structure(0);
    } else {
      graph_.input_structure = flat_input_structure(graph_.inputs.size());
    }
    const bool outputs_given = accept_word("outputs");
    if (outputs_given) graph_.output_structure = parse_structure(0);
    while (!accept_word("return")) parse_node();
    const std::size_t users = parse_outputs();
    if (!outputs_given) graph_.output_structure = flat_output_structure(users);
    if (!at(Kind::end)) syntax_error(peek(), "text after the graph");
    return std::move(graph_);
  }

 private:
  // --- values and types -------------------------------------------------------
  // A number kind without brackets, else a tensor; "bool" may be either.
  Type parse_type() {
    Type type;
    const Token word = expect_kind(Kind::word, "a type");
    const std::optional<DType> dtype = parse_dtype(word.text);
    if (dtype && accept("[")) {
      type.dtype = *dtype;
      type.sizes = parse_integers("]");
      type.strides = row_major_strides_of(word, type.sizes);
      if (accept("{")) type.strides = parse_integers("}");
    } else if (word.text == "int") {
      type.kind = TypeKind::integer;
    } else if (word.text == "real") {
      type.kind = TypeKind::real;
    } else if (word.text == "bool") {
      type.kind = TypeKind::boolean;
    } else {
      syntax_error(word, "'" + word.text + "' is not a type");
    }
    type.dynamic = accept_word("dynamic");
    return type;
  }

  // Sizes from outside must not overflow in row_major_strides().
  static std::vector<std::int64_t> row_major_strides_of(const Token& token,
                                                        const std::vector<std::int64_t>& sizes) {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) {
      if (size < 0 || __builtin_mul_overflow(product, size == 0 ? 1 : size, &product)) {
        syntax_error(token, "the sizes are negative or too large");
      }
    }
    return row_major_strides(sizes);
  }

  ValueId define(const Token& token, Value value) {
    value.name = token.text;
    const ValueId id = graph_.add_value(std::move(value));
    if (!ids_.emplace(token.text, id).second) {
      syntax_error(token, "%" + token.text + " is already defined");
    }
    return id;
  }

  ValueId parse_use() {
    const Token token = expect_kind(Kind::value, "a value");
    const auto found = ids_.find(token.text);
    if (found == ids_.end()) syntax_error(token, "%" + token.text + " is not defined");
    return found->second;
  }

  // --- signature and structures -------------------------------------------------
  void parse_signature() {
    expect("(");
    list(")", [&] {
      Input input;
      if (at(Kind::string)) {
        input.name = take().text;
        expect("=");
        input.constant = parse_arg();
        graph_.inputs.push_back(std::move(input));
        return;
      }
      const Token name = expect_kind(Kind::value, "an input or a weight");
      const bool renamed = at(Kind::string);
      input.name = renamed ? take().text : name.text;
      expect(":");
      Value value;
      if (!renamed && accept_word("weight")) {
        value.kind = ValueKind::weight;
        value.index = parse_index();
        value.type = parse_type();
        define(name, std::move(value));
        return;
      }
      value.kind = ValueKind::input;
      value.index = static_cast<std::int32_t>(graph_.inputs.size());
      value.type = parse_type();
      input.value = define(name, std::move(value));
      graph_.inputs.push_back(std::move(input));
    });
  }

  Structure parse_structure(int depth) {
    if (depth > kMaxDepth) syntax_error(peek(), "the structure nests too deeply");
    Structure structure;
    const auto child = [&] { structure.children.push_back(parse_structure(depth + 1)); };
    if (accept("(")) {
      structure.kind = Structure::Kind::tuple;
      list(")", child);
    } else if (accept("[")) {
      structure.kind = Structure::Kind::list;
      list("]", child);
    } else if (accept("{")) {
      structure.kind = Structure::Kind::dict;
      list("}", [&] {
        structure.keys.push_back(expect_kind(Kind::string, "a quoted key").text);
        expect(":");
        child();
      });
    } else {
      structure.leaf = parse_index();
    }
    return structure;
  }

  // --- arguments ------------------------------------------------------------------
  Arg parse_arg() {
    switch (peek().kind) {
      case Kind::value:
        return Ref{parse_use()};
      case Kind::string:
        return take().text;
      case Kind::integer:
        return parse_integer();
      case Kind::real:
        return parse_real();
      case Kind::word:
        return parse_word();
      default:
        break;
    }
    if (accept("[")) return parse_list();
    syntax_error(peek(), "expected an argument");
  }

  Arg parse_word() {
    if (at_word("inf") || at_word("nan")) return parse_real();
    const Token word = take();
    const std::string& text = word.text;
    if (text == "None") return std::monostate();
    if (text == "True") return true;
    if (text == "False") return false;
    if (text == "absent") return Ref{};
    if (text == "complex") return parse_complex();
    if (text == "number") return parse_wrapped();
    if (accept("[")) {
      if (text == "mixed") return parse_mixed();
      expect("]");
      if (text == "refs") return RefList{};
      if (text == "bools") return std::vector<bool>{};
      if (text == "reals") return std::vector<double>{};
      syntax_error(word, "'" + text + "' is not a list");
    }
    if (const std::optional<DType> dtype = parse_dtype(text)) return *dtype;
    for (const auto& [name, value] : kFormatWords) {
      if (text == name) return value;
    }
    for (const auto& [name, value] : kLayoutWords) {
      if (text == name) return value;
    }
    for (const auto& [name, value] : kDeviceWords) {
      if (text == name) return value;
    }
    syntax_error(word, "'" + text + "' is not an argument");
  }

  std::complex<double> parse_complex() {
    expect("(");
    const double real = parse_real();
    expect(",");
    const double imaginary = parse_real();
    expect(")");
    return {real, imaginary};
  }

  WrappedNumber parse_wrapped() {
    expect("(");
    const Token start = peek();
    const Arg arg = parse_arg();
    expect(")");
    WrappedNumber number;
    if (const auto* b = std::get_if<bool>(&arg)) {
      number.value = *b;
    } else if (const auto* i = std::get_if<std::int64_t>(&arg)) {
      number.value = *i;
    } else if (const auto* d = std::get_if<double>(&arg)) {
      number.value = *d;
    } else if (const auto* c = std::get_if<std::complex<double>>(&arg)) {
      number.value = *c;
    } else {
      syntax_error(start, "expected a number");
    }
    return number;
  }

  MixedInts parse_mixed() {
    MixedInts mixed;
    list("]", [&] {
      Ref ref;
      if (at(Kind::value)) {
        ref.id = parse_use();
        expect("=");
      }
      mixed.refs.push_back(ref);
      mixed.values.push_back(parse_integer());
    });
    return mixed;
  }

  // The first item says what the list holds; an empty one holds integers.
  Arg parse_list() {
    if (at(Kind::value) || at_word("None")) {
      RefList refs;
      list("]", [&] { refs.refs.push_back(accept_word("None") ? Ref{} : Ref{parse_use()}); });
      return refs;
    }
    if (at(Kind::real) || at_word("inf") || at_word("nan")) {
      std::vector<double> reals;
      list("]", [&] { reals.push_back(parse_real()); });
      return reals;
    }
    if (at(Kind::word)) {
      std::vector<bool> bools;
      list("]", [&] {
        const bool value = at_word("True");
        if (!value && !at_word("False")) syntax_error(peek(), "expected True or False");
        take();
        bools.push_back(value);
      });
      return bools;
    }
    return parse_integers("]");
  }

  // --- nodes and outputs --------------------------------------------------------------
  void parse_node() {
    Node node;
    std::vector<std::pair<Token, Value>> outputs;  // defined once the arguments are read
    if (at(Kind::value) || at_word("_")) {
      do {
        if (accept_word("_")) {
          outputs.emplace_back();
          continue;
        }
        Token name = expect_kind(Kind::value, "an output");
        expect(":");
        Value value;
        value.type = parse_type();
        outputs.emplace_back(std::move(name), std::move(value));
      } while (accept(","));
      expect("=");
    }
    if (!at(Kind::word) && !at(Kind::string)) {
      syntax_error(peek(), "expected an operator or 'return'");
    }
    if (at(Kind::word) && !is_plain_op(peek().text)) {
      syntax_error(peek(), "'" + peek().text + "' is not an operator");
    }
    node.op = take().text;
    expect("(");
    list(")", [&] { node.args.push_back(parse_arg()); });
    parse_suffixes(node);
    for (auto& [name, value] : outputs) {
      node.outputs.push_back(name.text.empty() ? kNone : define(name, std::move(value)));
    }
    graph_.add_node(std::move(node));
  }

  void parse_suffixes(Node& node) {
    if (accept_word("if")) {
      node.guard_when = !accept_word("not");
      node.guard = parse_use();
    }
    node.barrier = accept_word("barrier");
    if (accept("@")) node.source = intern_source(expect_kind(Kind::string, "a source line").text);
  }

  SourceId intern_source(std::string source) {
    const auto [found, added] =
        sources_.emplace(source, static_cast<SourceId>(graph_.sources.size()));
    if (added) graph_.sources.push_back(std::move(source));
    return found->second;
  }

  // Returns the number of user outputs.
  std::size_t parse_outputs() {
    std::size_t users = 0;
    expect("(");
    list(")", [&] {
      Output output;
      if (at_word("weight") || at_word("input")) {
        output.kind =
            take().text == "weight" ? OutputKind::buffer_mutation : OutputKind::input_mutation;
        output.target = parse_index();
        expect("=");
      } else {
        ++users;
      }
      output.value = parse_arg();
      graph_.outputs.push_back(std::move(output));
    });
    return users;
  }

  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, SourceId> sources_;
};

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).run(); }

}  // namespace lowwater
