#include "report/timeline.h"

#include <gtest/gtest.h>

namespace lowwater {
namespace {

// Launch i holds a value of `sizes[i]` bytes, released after it.
Program stairs(const std::vector<Bytes>& sizes) {
  Program program;
  Tick now = 0;
  for (const Bytes size : sizes) {
    const auto id = static_cast<BufferId>(program.buffers.size());
    program.buffers.push_back({.size = size, .begin = now, .end = now + 1});
    program.steps.push_back(Launch{.op = "aten::op" + std::to_string(id),
                                   .args = {},
                                   .outputs = {},
                                   .script = {{true, id, size}}});
    program.steps.push_back(Release{id});
    now += 2;
  }
  return program;
}

TEST(Timeline, PointsAreThePeaksOfLaunches) {
  Program program = stairs({100, 1000});
  // A workspace beside the second value, and a launch that allocates nothing.
  program.buffers[1].end = 4;
  program.buffers.push_back({.kind = BufferKind::temporary, .size = 64, .begin = 3, .end = 4});
  std::get<Launch>(program.steps[2]).script.push_back({true, 2, 64});
  std::get<Launch>(program.steps[2]).script.push_back({false, 2, 0});
  program.buffers[1].end = 5;
  program.steps.insert(program.steps.begin() + 3,
                       Launch{.op = "aten::item", .args = {}, .outputs = {}, .script = {}});
  const std::vector<TimelinePoint> points = arena_timeline(program);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].bytes, 128);  // aligned to 64
  EXPECT_EQ(points[1].bytes, 1024 + 64);
  EXPECT_EQ(points[2].bytes, 1024);  // the value is released after it
  EXPECT_EQ(points[2].op, "aten::item");
}

TEST(Timeline, Drawing) {
  EXPECT_EQ(print_timeline(stairs({64, 64 * 3, 64 * 12, 64 * 6, 0}), 80), R"(768 B |  █
      |  █
      |  █
      |  ██
      | ▄██
      |▄███
    0 +-----
       5 launches, most at number 3: aten::op2
)");
}

TEST(Timeline, NarrowTerminalsKeepThePeak) {
  std::vector<Bytes> sizes(1000, 64);
  sizes[777] = 6400;
  const std::string text = print_timeline(stairs(sizes), 30);
  EXPECT_NE(text.find("1000 launches, most at number 778: aten::op777"), std::string::npos) << text;
  EXPECT_NE(text.find("6.25 KiB |               █\n"), std::string::npos) << text;
  EXPECT_EQ(print_timeline(Program{}, 80), "");
}

}  // namespace
}  // namespace lowwater
