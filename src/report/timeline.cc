#include "report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/bytes.h"

namespace lowwater {
namespace {

constexpr int kRows = 6;
constexpr int kEighths = 8;  // of a row

// Live bytes by tick of `steps`: each arena buffer counts in [begin, end).
class LiveBytes {
 public:
  explicit LiveBytes(const Program& program)
      : program_(program), counted_(program.buffers.size(), false) {
    for_each_step(program.steps, [&](const Step& step) {
      if (const auto* launch = std::get_if<Launch>(&step)) {
        for (const ScriptEvent& event : launch->script) add(event.buffer);
      } else if (const auto* copy = std::get_if<Copy>(&step)) {
        add(program_.slots[static_cast<std::size_t>(copy->to)].buffer);
      }
    });
    Bytes live = 0;
    for (Bytes& change : at_) change = live += change;
  }

  // The most in the ticks [begin, end].
  [[nodiscard]] Bytes most(Tick begin, Tick end) const {
    Bytes most = 0;
    for (Tick tick = std::max<Tick>(begin, 0);
         tick <= end && static_cast<std::size_t>(tick) < at_.size(); ++tick) {
      most = std::max(most, at_[static_cast<std::size_t>(tick)]);
    }
    return most;
  }

 private:
  void add(BufferId id) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
    if (counted_[static_cast<std::size_t>(id)] || buffer.space != Space::arena) return;
    counted_[static_cast<std::size_t>(id)] = true;
    const Bytes size = align_up(buffer.size, program_.alignment);
    if (at_.size() <= static_cast<std::size_t>(buffer.end))
      at_.resize(static_cast<std::size_t>(buffer.end) + 1, 0);
    at_[static_cast<std::size_t>(buffer.begin)] += size;
    at_[static_cast<std::size_t>(buffer.end)] -= size;
  }

  const Program& program_;
  std::vector<bool> counted_;
  std::vector<Bytes> at_;
};

// Column c shows the most of the launches that fall into it.
std::vector<Bytes> columns(const std::vector<TimelinePoint>& points, std::size_t width) {
  const std::size_t count = std::min(points.size(), width);
  std::vector<Bytes> result(count, 0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    Bytes& column = result[i * count / points.size()];
    column = std::max(column, points[i].bytes);
  }
  return result;
}

// Eighths of a row that a column fills, at least one if it is not empty.
int height(Bytes bytes, Bytes peak) {
  if (bytes <= 0 || peak <= 0) return 0;
  const double share = static_cast<double>(bytes) / static_cast<double>(peak);
  return std::max(1, static_cast<int>(std::lround(share * kRows * kEighths)));
}

}  // namespace

std::vector<TimelinePoint> arena_timeline(const Program& program) {
  const LiveBytes live(program);
  std::vector<TimelinePoint> points;
  Tick now = 0;
  for_each_step(program.steps, [&](const Step& step) {
    if (const auto* launch = std::get_if<Launch>(&step)) {
      const auto events = static_cast<Tick>(launch->script.size());
      // A launch that allocates nothing sees what the tick before it left.
      points.push_back({launch->op, live.most(events > 0 ? now : now - 1, now + events - 1)});
      now += events;
    } else if (std::holds_alternative<Copy>(step) || std::holds_alternative<Release>(step)) {
      ++now;
    }
  });
  return points;
}

std::string print_timeline(const Program& program, int width) {
  const std::vector<TimelinePoint> points = arena_timeline(program);
  if (points.empty()) return {};
  const auto peak = std::max_element(
      points.begin(), points.end(),
      [](const TimelinePoint& a, const TimelinePoint& b) { return a.bytes < b.bytes; });
  const std::string label = format_bytes(peak->bytes);
  const std::size_t margin = label.size() + 2;
  const std::vector<Bytes> heights = columns(
      points,
      std::max<std::size_t>(static_cast<std::size_t>(std::max(width, 0)), margin + 8) - margin);

  static constexpr std::array<const char*, kEighths + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                                    "▅", "▆", "▇", "█"};
  std::string text;
  for (int row = kRows - 1; row >= 0; --row) {
    std::string bars;
    std::size_t used = 0;  // without trailing blanks
    for (const Bytes bytes : heights) {
      const int filled = std::clamp(height(bytes, peak->bytes) - row * kEighths, 0, kEighths);
      bars += kBlocks[static_cast<std::size_t>(filled)];
      if (filled > 0) used = bars.size();
    }
    text += fmt::format("{:>{}} |{}\n", row == kRows - 1 ? label : "", label.size(),
                        bars.substr(0, used));
  }
  text += fmt::format("{:>{}} +{}\n", "0", label.size(), std::string(heights.size(), '-'));
  text += fmt::format("{:>{}}  {}, most at number {}: {}\n", "", label.size(),
                      points.size() == 1 ? "1 launch" : fmt::format("{} launches", points.size()),
                      peak - points.begin() + 1, peak->op);
  return text;
}

}  // namespace lowwater
