// Where and when each value exists: a tree whose leaves are stages (nodes run
// together, in order) and whose inner nodes are loops over tiles.
//
//   loop images (axis 0 of %x, 10 tiles)
//     stage  conv1 relu conv2            a value used only in here: one tile of it exists
//   stage  head
//
// A node may stand in several stages, or twice in one: then it is recomputed,
// and a use reads the latest instance before it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace lowwater {

struct Stage {
  std::vector<NodeId> nodes;
  friend bool operator==(const Stage&, const Stage&) = default;
};

struct Loop;

// A stage or a loop. (std::vector of the incomplete Loop keeps it a value.)
struct ScheduleItem {
  std::variant<Stage, std::vector<Loop>> item;  // exactly one Loop in the vector
  friend bool operator==(const ScheduleItem&, const ScheduleItem&);
};

struct Loop {
  ValueId axis_value = kNone;  // the value whose dimension is cut
  std::int32_t axis = 0;
  std::int64_t tile = 1;  // extent of one tile along it; the last may be smaller
  std::vector<ScheduleItem> body;
  friend bool operator==(const Loop&, const Loop&) = default;
};

inline bool operator==(const ScheduleItem& a, const ScheduleItem& b) { return a.item == b.item; }

struct Schedule {
  // Nodes that depend on constants only and run once, when a session opens;
  // what the body reads of them is kept like a weight.
  std::vector<NodeId> once;
  std::vector<ScheduleItem> body;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// By NodeId: something that leaves the run depends on it, or it is a barrier.
std::vector<bool> needed_nodes(const Graph& graph);

// Every needed node whole, in graph order, one stage; `once` where constant[node].
Schedule whole_schedule(const Graph& graph, const std::vector<bool>& constant);

// The node instances of a schedule without loops, in order.
std::vector<NodeId> flat_order(const Schedule& schedule);

// Violations, empty if sound: every needed node present, no use before its
// definition, barriers and random nodes once and in order, loop axes in range.
// `random`: by NodeId; empty if the graph has no random operator.
std::vector<std::string> check_schedule(const Graph& graph, const Schedule& schedule,
                                        const std::vector<bool>& random = {});

// "loop  axis 0 of %x, 10 tiles of 1"
std::string print_loop(const Graph& graph, const Loop& loop);
std::string print_schedule(const Graph& graph, const Schedule& schedule);

}  // namespace lowwater
