// Buffers -> packing items -> offsets.
#include <algorithm>

#include "plan/lower.h"
#include "plan/packing.h"

namespace lowwater {
namespace {

// One time line's arena buffers as packing items. A chain of buffers that share
// an address is one item that lives as long as all of them:
//
//   conv -> b0   relu b0 -> b1 (shares b0)   add b1, b5 -> b2 (shares b1)
//   item: [b0.begin, b2.end)
struct Timeline {
  std::vector<PackItem> items;
  std::vector<std::pair<BufferId, std::size_t>> places;  // buffer, its item
};

class TimelineBuilder {
 public:
  explicit TimelineBuilder(const Program& program)
      : program_(program), item_of_(program.buffers.size(), kNoItem) {}

  Timeline run(const std::vector<Step>& steps) {
    for_each_step(steps, [&](const Step& step) {
      if (const auto* launch = std::get_if<Launch>(&step)) {
        for (const ScriptEvent& event : launch->script) {
          if (event.is_alloc) add(event.buffer);
        }
      } else if (const auto* copy = std::get_if<Copy>(&step)) {
        add(program_.slots[static_cast<std::size_t>(copy->to)].buffer);
      }
    });
    return std::move(timeline_);
  }

 private:
  static constexpr std::size_t kNoItem = SIZE_MAX;

  void add(BufferId id) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
    std::size_t& item = item_of_[static_cast<std::size_t>(id)];
    if (buffer.space != Space::arena || buffer.size == 0 || item != kNoItem) return;
    if (buffer.shares != kNone) item = item_of_[static_cast<std::size_t>(buffer.shares)];
    if (item == kNoItem) {
      item = timeline_.items.size();
      timeline_.items.push_back({buffer.begin, buffer.end, buffer.size});
    } else {
      PackItem& chain = timeline_.items[item];
      chain.begin = std::min(chain.begin, buffer.begin);
      chain.end = std::max(chain.end, buffer.end);
      chain.size = std::max(chain.size, buffer.size);
    }
    timeline_.places.emplace_back(id, item);
  }

  const Program& program_;
  std::vector<std::size_t> item_of_;  // by BufferId
  Timeline timeline_;
};

Timeline timeline(const Program& program, const std::vector<Step>& steps) {
  return TimelineBuilder(program).run(steps);
}

Packing place(Program& program, const std::vector<Step>& steps, double time_limit_ms) {
  const Timeline line = timeline(program, steps);
  Packing packing =
      pack(line.items, {.alignment = program.alignment, .time_limit_ms = time_limit_ms});
  for (const auto& [buffer, item] : line.places) {
    program.buffers[static_cast<std::size_t>(buffer)].offset = packing.offsets[item];
  }
  packing.height = align_up(packing.height, program.alignment);
  return packing;
}

}  // namespace

AddressReport plan_addresses(Program& program, double time_limit_ms) {
  const Packing steps = place(program, program.steps, time_limit_ms);
  const Packing once = place(program, program.once, time_limit_ms);
  program.arena_bytes = std::max(steps.height, once.height);
  program.once_arena_bytes = once.height;
  program.constant_bytes = 0;
  for (Buffer& buffer : program.buffers) {
    if (buffer.space != Space::constant) continue;
    buffer.offset = program.constant_bytes;
    program.constant_bytes = align_up(buffer.offset + buffer.size, program.alignment);
  }
  const Packing& larger = steps.height >= once.height ? steps : once;
  const Bytes bound = std::max(steps.lower_bound, once.lower_bound);
  return {bound, larger.method, larger.optimal || larger.height == bound};
}

Bytes liveness_bound(const Program& program) {
  return std::max(lower_bound(timeline(program, program.steps).items, program.alignment),
                  lower_bound(timeline(program, program.once).items, program.alignment));
}

}  // namespace lowwater
