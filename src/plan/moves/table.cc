#include "plan/moves/instances.h"

namespace lowwater {

const std::vector<Move>& move_table() {
  static const std::vector<Move> kMoves = {
      {"reorder", "runs nodes in another valid order, so that less is live at the peak", false,
       propose_reorder},
      {"recompute", "makes a cheap value again before its next use instead of keeping it", true,
       propose_recompute},
  };
  return kMoves;
}

}  // namespace lowwater
