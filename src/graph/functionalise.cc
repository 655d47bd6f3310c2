// One walk over the nodes. Tensors that share elements form a tree of views:
//
//     %x              root: an input, a weight, or made by a node
//     |- %v = view    its elements are computed anew, when somebody reads them,
//     |  `- %s        from its parent, if the root was written since
//     `- %t = slice
//
// A write to %s becomes a functional operator; the new elements are carried up
// (inverse of the view, or scatter) to the root, whose version then rises.
#include "graph/functionalise.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "graph/twins.h"
#include "graph/views.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

// Where a value of the imported graph stands.
struct Place {
  ValueId root = kNone;  // itself if it is a root
  // Views only: output `output` of the imported node `node`, a view of `parent`.
  ValueId parent = kNone;
  NodeId node = kNone;
  std::size_t output = 0;
  bool same = false;  // the parent itself under another name: x2 = x.add_(y)
  // The value that holds its elements, valid for version `seen` of the root.
  ValueId now = kNone;
  int seen = 0;
  int version = 0;  // roots only: counts writes
};

class Functionaliser {
 public:
  Functionaliser(Graph& graph, const SchemaTable& schemas)
      : graph_(graph), schemas_(schemas), old_(std::move(graph.nodes)) {
    graph_.nodes.clear();
    places_.resize(graph_.values.size());
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      names_.insert(graph_.values[i].name);
      if (graph_.values[i].kind != ValueKind::node) make_root(static_cast<ValueId>(i));
    }
  }

  void run() {
    for (std::size_t i = 0; i < old_.size(); ++i) step(static_cast<NodeId>(i));
    for (Output& output : graph_.outputs) {
      for_each_ref(output.value, [&](Ref& ref) { ref.id = current(ref.id); });
    }
    add_mutation_outputs();
  }

 private:
  Place& place(ValueId id) { return places_[static_cast<std::size_t>(id)]; }

  void make_root(ValueId id) {
    place(id).root = id;
    place(id).now = id;
  }

  // --- emitting -----------------------------------------------------------------
  ValueId fresh(const std::string& base, const Type& type) {
    std::string name;
    for (int i = 1; !names_.insert(name = fmt::format("{}.{}", base, i)).second; ++i) {
    }
    Value value;
    value.name = std::move(name);
    value.type = type;
    return graph_.add_value(std::move(value));
  }

  // Emits `call` in the place (source line, guard) of `like`; its only output is `output`.
  ValueId emit(Call call, const Node& like, ValueId output) {
    Node node;
    node.op = std::move(call.op);
    node.args = std::move(call.args);
    node.outputs = {output};
    node.source = like.source;
    node.guard = like.guard == kNone ? kNone : current(like.guard);
    node.guard_when = like.guard_when;
    graph_.add_node(std::move(node));
    return output;
  }

  // The node as it stands, reading the present elements of its operands.
  Node updated(const Node& node) {
    Node copy = node;
    for (Arg& arg : copy.args) {
      for_each_ref(arg, [&](Ref& ref) { ref.id = current(ref.id); });
    }
    if (copy.guard != kNone) copy.guard = current(copy.guard);
    return copy;
  }

  // --- reading ------------------------------------------------------------------
  // The value that holds the present elements of `id`.
  ValueId current(ValueId id) {
    // Values made here are never views of the imported graph: they are current.
    if (static_cast<std::size_t>(id) >= places_.size()) return id;
    Place& view = place(id);
    const int version = place(view.root).version;
    if (view.seen == version) return view.now;
    view.now = view.same ? current(view.parent) : regenerate(id);
    view.seen = version;
    return view.now;
  }

  ValueId regenerate(ValueId id) {
    const Place view = place(id);
    Node copy = updated(old_[static_cast<std::size_t>(view.node)]);
    const ValueId output = fresh(graph_.value(id).name, graph_.value(id).type);
    for (ValueId& other : copy.outputs) other = kNone;
    copy.outputs[view.output] = output;
    graph_.add_node(std::move(copy));
    return output;
  }

  // --- writing ------------------------------------------------------------------
  void step(NodeId id) {
    const Node& node = old_[static_cast<std::size_t>(id)];
    const Schema* schema = schemas_.find(node.op);
    if (schema != nullptr && schema->is_mutable()) return write_step(id, *schema);
    graph_.add_node(updated(node));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (output == kNone) continue;
      const ValueId parent = viewed_value(graph_, node, schema, i);
      parent == kNone ? make_root(output) : make_view(output, parent, id, i, false);
    }
  }

  void make_view(ValueId id, ValueId parent, NodeId node, std::size_t output, bool same) {
    Place& view = place(id);
    view.root = place(parent).root;
    view.parent = parent;
    view.node = node;
    view.output = output;
    view.same = same;
    view.now = same ? current(parent) : id;
    view.seen = place(view.root).version;
  }

  void write_step(NodeId id, const Schema& schema) {
    const Node& node = old_[static_cast<std::size_t>(id)];
    if (node.op == "aten::detach_" || node.op == "aten::requires_grad_") {
      // Nothing at all for inference; the result's name needs a producer.
      if (!node.outputs.empty() && node.outputs[0] != kNone) {
        emit({"aten::alias", {Ref{current(std::get<Ref>(node.args[0]).id)}}}, node,
             node.outputs[0]);
      }
      return name_results(id, schema);
    }
    if (changes_metadata(schema, schemas_)) refuse(node, "changes the shape of its operand");
    for (const ValueId written : written_values(node, schema)) check_writable(node, written);
    const Schema* twin = functional_twin(schema, schemas_);
    if (twin != nullptr && std::holds_alternative<Ref>(node.args[0]) &&
        invertible(std::get<Ref>(node.args[0]).id)) {
      write_functionally(id, schema, *twin);
    } else {
      write_behind_barrier(id, schema);
    }
  }

  [[noreturn]] void refuse(const Node& node, const std::string& what) const {
    const std::string where =
        node.source == kNone ? "" : graph_.sources[static_cast<std::size_t>(node.source)];
    throw Error(ErrorKind::unsupported, node.op + " " + what, where,
                "write the model without this in-place operator");
  }

  static std::vector<ValueId> written_values(const Node& node, const Schema& schema) {
    std::vector<ValueId> written;
    for (std::size_t i = 0; i < node.args.size() && i < schema.args.size(); ++i) {
      if (!schema.args[i].is_write) continue;
      for_each_ref(node.args[i], [&](const Ref& ref) { written.push_back(ref.id); });
    }
    return written;
  }

  void check_writable(const Node& node, ValueId written) {
    const Value& value = graph_.value(written);
    if (may_overlap(value.type)) {
      refuse(node, fmt::format("writes %{} whose elements overlap", value.name));
    }
    if (node.guard == kNone) return;
    // Outside the branch nobody could tell which elements the root has.
    const Value& root = graph_.value(place(written).root);
    const Node* maker = root.kind == ValueKind::node ? origin(place(written).root) : nullptr;
    if (maker == nullptr || maker->guard != node.guard || maker->guard_when != node.guard_when) {
      refuse(node, fmt::format("writes %{} in a branch of torch.cond", root.name));
    }
  }

  // The imported node that made a root.
  [[nodiscard]] const Node* origin(ValueId root) const {
    for (const Node& node : old_) {
      for (const ValueId output : node.outputs) {
        if (output == root) return &node;
      }
    }
    return nullptr;
  }

  bool invertible(ValueId id) {
    for (; place(id).parent != kNone; id = place(id).parent) {
      const Place& view = place(id);
      if (view.same) continue;
      const Node& node = old_[static_cast<std::size_t>(view.node)];
      const bool counts_in_storage = node.op == "aten::as_strided";
      if (counts_in_storage && place(view.parent).parent != kNone) return false;
      if (!invert_view(graph_, node, view.output, view.parent, view.parent, id)) return false;
    }
    return true;
  }

  void write_functionally(NodeId id, const Schema& schema, const Schema& twin) {
    const Node& node = old_[static_cast<std::size_t>(id)];
    const ValueId written = std::get<Ref>(node.args[0]).id;
    const Type type = graph_.value(written).type;
    const Node call = updated(node);
    // The operator returns its operand: that name now stands for the new tensor.
    const ValueId returned = node.outputs.empty() ? kNone : node.outputs[0];
    const ValueId result = returned == kNone ? fresh(graph_.value(written).name, type) : returned;
    const DType dtype = twin_dtype(graph_, node, twin);
    if (dtype == type.dtype) {
      emit({twin.name, call.args}, node, result);
    } else {
      Type computed = type;
      computed.dtype = dtype;
      const ValueId wide =
          emit({twin.name, call.args}, node, fresh(graph_.value(written).name, computed));
      emit({"aten::_to_copy", {Ref{wide}, type.dtype, Arg(), Arg(), Arg(), false, Arg()}}, node,
           result);
    }
    carry_up(node, written, result);
    name_results(id, schema);
  }

  // `elements` are the new ones of `id`: the same for all that it is a view of.
  void carry_up(const Node& like, ValueId id, ValueId elements) {
    std::vector<std::pair<ValueId, ValueId>> path = {{id, elements}};
    for (; place(id).parent != kNone; id = place(id).parent, path.emplace_back(id, elements)) {
      const Place view = place(id);
      if (view.same) continue;
      const Node& node = old_[static_cast<std::size_t>(view.node)];
      const bool scatters = reads_parent(node, view, id);
      const ValueId parent_now = scatters ? current(view.parent) : view.parent;
      std::optional<Call> call =
          invert_view(graph_, node, view.output, view.parent, parent_now, elements);
      for (Arg& arg : call->args) update_later_sizes(arg, parent_now, elements);
      elements = emit(std::move(*call), like,
                      fresh(graph_.value(view.parent).name, graph_.value(view.parent).type));
    }
    const int version = ++place(id).version;
    for (const auto& [value, now] : path) {
      place(value).now = now;
      place(value).seen = version;
    }
  }

  // Only scatters need the parent's old elements; do not compute them for others.
  [[nodiscard]] bool reads_parent(const Node& node, const Place& view, ValueId id) const {
    const std::optional<Call> call =
        invert_view(graph_, node, view.output, view.parent, view.parent, id);
    return call->args[0] == Arg(Ref{view.parent});
  }

  // Run-time sizes among the arguments of the view are values too.
  void update_later_sizes(Arg& arg, ValueId parent_now, ValueId elements) {
    for_each_ref(arg, [&](Ref& ref) {
      if (ref.id != parent_now && ref.id != elements) ref.id = current(ref.id);
    });
  }

  // --- barriers -----------------------------------------------------------------
  // The operator itself runs, on true views of one storage. The caller's inputs
  // and the weights are not written: a copy takes their place.
  void write_behind_barrier(NodeId id, const Schema& schema) {
    const Node& node = old_[static_cast<std::size_t>(id)];
    const std::vector<ValueId> written = written_values(node, schema);
    for (const ValueId value : written) {
      const ValueId root = place(value).root;
      const ValueId now = current(root);
      if (graph_.value(now).kind != ValueKind::node) {
        place(root).now = emit({"aten::clone", {Ref{now}, Arg()}}, node,
                               fresh(graph_.value(root).name, graph_.value(root).type));
      }
      // Views that hold elements of their own (just written) must be views again.
      ++place(root).version;
      place(root).seen = place(root).version;
    }
    Node call = updated(node);
    call.barrier = true;
    graph_.add_node(std::move(call));
    for (const ValueId value : written) {
      const ValueId root = place(value).root;
      ++place(root).version;
      place(root).seen = place(root).version;
    }
    name_results(id, schema);
  }

  // The results of an operator that writes: its operand again, or new tensors.
  void name_results(NodeId id, const Schema& schema) {
    const Node& node = old_[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (output == kNone) continue;
      const ValueId operand = returned_operand(node, schema, i);
      operand == kNone ? make_root(output) : make_view(output, operand, id, i, true);
    }
  }

  static ValueId returned_operand(const Node& node, const Schema& schema, std::size_t output) {
    const SchemaReturn* returned = return_of(schema, output);
    if (returned == nullptr || returned->alias.empty()) return kNone;
    for (std::size_t i = 0; i < schema.args.size() && i < node.args.size(); ++i) {
      const auto* ref = std::get_if<Ref>(&node.args[i]);
      if (ref != nullptr && schema.args[i].alias == returned->alias) return ref->id;
    }
    return kNone;
  }

  // --- outputs ------------------------------------------------------------------
  void add_mutation_outputs() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Value& value = graph_.values[i];
      if (places_[i].root != static_cast<ValueId>(i) || places_[i].version == 0) continue;
      if (value.kind == ValueKind::node) continue;
      const OutputKind kind = value.kind == ValueKind::weight ? OutputKind::buffer_mutation
                                                              : OutputKind::input_mutation;
      Output* output = nullptr;
      for (Output& known : graph_.outputs) {
        if (known.kind == kind && known.target == value.index) output = &known;
      }
      if (output == nullptr) output = &graph_.outputs.emplace_back();
      *output = {kind, Ref{places_[i].now}, value.index};
    }
  }

  Graph& graph_;
  const SchemaTable& schemas_;
  const std::vector<Node> old_;
  std::vector<Place> places_;  // by ValueId of the imported graph
  std::unordered_set<std::string> names_;
};

}  // namespace

void functionalise(Graph& graph, const SchemaTable& schemas) {
  for (const Node& node : graph.nodes) {
    const Schema* schema = schemas.find(node.op);
    if (schema == nullptr || !schema->is_mutable()) continue;
    Functionaliser(graph, schemas).run();
    return;
  }
}

}  // namespace lowwater
