// Does the program compute the graph? Follows which value each buffer holds;
// private to verify*.cc.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plan/verify_report.h"

namespace lowwater {

class Meaning {
 public:
  Meaning(const Graph& graph, const Program& program, Report& report);

  void begin_run();           // the inputs are there
  void forget(BufferId id);   // the buffer was granted anew
  void hold(SlotId id);       // a step wrote what the slot stands for
  void check_use(SlotId id);  // a step reads the slot: its value must be there
  // What the bytes say is copied; `to` may be a mutated weight or input.
  void copy(SlotId from, SlotId to);

  // The launch is its node's call: operator, arguments, outputs, guard, order.
  void check_launch(const Launch& launch, bool in_loop);
  // The graph's outputs are where the program says, mutations have been copied.
  void check_outputs();

 private:
  struct Place {
    TensorMeta meta;
    bool part = false;  // of a value that a loop makes piece by piece
  };
  using Held = std::unordered_map<ValueId, Place>;
  enum class Found : std::uint8_t { yes, elsewhere, no };

  [[nodiscard]] const Slot& slot(SlotId id) const {
    return program_.slots[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool is_value(ValueId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size();
  }
  [[nodiscard]] bool same_value(ValueId a, ValueId b) const;
  [[nodiscard]] bool stands_for(SlotId slot, ValueId value) const;
  Found find(BufferId buffer, ValueId value, const TensorMeta& meta, bool exact);
  Found find_view(BufferId buffer, ValueId value, const TensorMeta& meta, bool exact);
  const Place* locate(BufferId buffer, ValueId value);

  bool same_arg(const Arg& given, const Arg& wanted) const;
  bool same_refs(const std::vector<Ref>& given, const std::vector<Ref>& wanted) const;
  bool same_ref(const Ref& given, const Ref& wanted) const;
  void check_call(const Launch& launch, const Node& node);
  void check_results(const Launch& launch, const Node& node, bool in_loop);
  void check_order(const Launch& launch, const Node& node);
  void check_mutation(const Output& output, std::size_t index);

  const Graph& graph_;
  const Program& program_;
  Report& report_;
  std::vector<Held> held_;                // by BufferId
  std::vector<bool> defined_;             // by SlotId: numbers that are known
  std::unordered_set<BufferId> mutated_;  // weights and inputs that were overwritten
  std::unordered_set<ValueId> absent_;    // outputs that turned out to be None
  std::unordered_map<std::int64_t, std::vector<SlotId>> slots_;  // by buffer and value
  // Copies into weights and inputs: value, and the slot written.
  std::vector<std::pair<ValueId, SlotId>> mutations_;
  NodeId last_barrier_ = kNone, last_node_ = kNone;
  std::ptrdiff_t barriers_ = 0;  // that ran
};

}  // namespace lowwater
