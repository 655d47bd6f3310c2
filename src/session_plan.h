// From an archive and a set of input sizes to a plan. Private to session*.cc.
#pragma once

#include <memory>
#include <string>

#include "session_state.h"

namespace lowwater {

// Imports, measures, searches and packs. A budget that is too small gives a plan
// that does not fit. Throws Error(interrupted) where Options::progress says so.
std::unique_ptr<PlannedShape> make_plan(SessionCore& core, const InputShapes& shapes);

// A stored plan for this archive, verified again. Throws Error(bad_input) if it
// was made for something else.
std::unique_ptr<PlannedShape> adopt_plan(SessionCore& core, const std::string& json);

// What `adopt_plan` reads.
std::string stored_plan(const SessionCore& core, const PlannedShape& planned);

// The graph after all rewrites, for these sizes.
Graph prepare_graph(const SessionCore& core, const InputShapes& shapes);

}  // namespace lowwater
