// Everything that a program says by number is in range; private to verify*.cc.
#pragma once

#include "plan/verify_report.h"

namespace lowwater {

void check_ids(const Graph& graph, const Program& program, Report& report);

}  // namespace lowwater
