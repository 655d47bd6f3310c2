// Memory over the course of a run, drawn with characters:
//
//   36 MiB |    ▃█
//          | ▂▅▇██▄▂
//        0 +--------
//           58 launches, most at number 21: aten::conv2d
#pragma once

#include <string>
#include <vector>

#include "plan/program.h"

namespace lowwater {

// Live arena bytes (aligned) at the peak of each launch of Program::steps, in
// order; a loop's body counts once per tile class.
struct TimelinePoint {
  std::string op;
  Bytes bytes = 0;
};
std::vector<TimelinePoint> arena_timeline(const Program& program);

// At most `width` columns wide; empty for a program without launches.
std::string print_timeline(const Program& program, int width);

}  // namespace lowwater
