// Private to plan/moves/: a schedule without loops as node instances that read
// each other's results.
//
//   position   0    1     2     3          a node that stands twice is two
//   node       a    b(a)  a     c(a,b)     instances; c reads the later `a`
//   reads      -    0     -     2,1
#pragma once

#include <vector>

#include "plan/search.h"

namespace lowwater {

// Bytes that one instance allocates and every instance that views or reads them.
struct Holding {
  std::int32_t maker = kNone;  // position; kNone: input, weight, constant
  Bytes size = 0;
  std::vector<std::int32_t> users;  // positions, ascending, the maker not among them
  bool leaves = false;              // (part of) an output: lives to the end
};

struct Instances {
  std::vector<NodeId> order;                     // by position
  std::vector<std::vector<std::int32_t>> reads;  // by position: positions it must follow
  std::vector<std::vector<std::int32_t>> makes;  // by position: holdings it allocates
  std::vector<std::vector<std::int32_t>> uses;   // by position: holdings that it reads, no repeats
  std::vector<Holding> holdings;
};

Instances instances_of(const MoveContext& context, const Schedule& schedule);

// The same `once`, another body.
Schedule with_order(const Schedule& from, std::vector<NodeId> order);

// What a second run of a node costs next to nothing, and gives the same bits.
bool is_cheap(const MoveContext& context, NodeId node, double total_ms);

// The moves, one file each.
std::vector<Schedule> propose_reorder(const MoveContext& context, const Candidate& from);
std::vector<Schedule> propose_recompute(const MoveContext& context, const Candidate& from);

}  // namespace lowwater
