#include "plan/verify_ids.h"

#include <algorithm>

#include "plan/verify_views.h"

namespace lowwater {
namespace {

using Kind = Violation::Kind;

class IdChecker {
 public:
  IdChecker(const Graph& graph, const Program& program, Report& report)
      : graph_(graph), program_(program), report_(report) {}

  void run() {
    if (program_.alignment <= 0 || (program_.alignment & (program_.alignment - 1)) != 0) {
      report_.add(Kind::bad_address, "the alignment {} is not a power of two", program_.alignment);
      return;
    }
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) check_buffer(i);
    for (std::size_t i = 0; i < program_.slots.size(); ++i) check_slot(i);
    for (const SlotId id : program_.inputs) check_slot_id(id, "an input");
    for (const SlotId id : program_.outputs) check_slot_id(id, "an output");
    if (program_.inputs.size() != graph_.inputs.size()) {
      report_.add(Kind::wrong_value, "the program has {} inputs, the graph {}",
                  program_.inputs.size(), graph_.inputs.size());
    }
    check_steps(program_.once);
    check_steps(program_.steps);
  }

 private:
  static bool in(std::int64_t id, std::size_t count) {
    return id >= 0 && static_cast<std::size_t>(id) < count;
  }

  void check_buffer(std::size_t i) {
    const Buffer& b = program_.buffers[i];
    const bool planned = b.space == Space::arena || b.space == Space::constant;
    const Bytes limit = b.space == Space::arena ? program_.arena_bytes : program_.constant_bytes;
    if (b.size < 0) report_.add(Kind::bad_address, "buffer {} has the size {}", i, b.size);
    if (b.shares != kNone && !in(b.shares, program_.buffers.size())) {
      report_.add(Kind::bad_address, "buffer {} shares the address of the unknown buffer {}", i,
                  b.shares);
    }
    if (!planned || b.size <= 0) return;
    if (b.offset % program_.alignment != 0) {
      report_.add(Kind::bad_address, "buffer {} at {} is not aligned to {}", i, b.offset,
                  program_.alignment);
    }
    if (b.offset < 0 || b.offset > limit - b.size) {
      report_.add(Kind::bad_address, "buffer {} at [{}, {}) is outside its space of {}", i,
                  b.offset, b.offset + b.size, limit);
    }
  }

  void check_slot(std::size_t i) {
    const Slot& s = program_.slots[i];
    if (s.value != kNone && !in(s.value, graph_.values.size())) {
      report_.add(Kind::wrong_value, "slot {} stands for the unknown value {}", i, s.value);
    }
    if (s.kind != TypeKind::tensor) return;
    if (!in(s.buffer, program_.buffers.size())) {
      report_.add(Kind::bad_address, "slot {} is in the unknown buffer {}", i, s.buffer);
      return;
    }
    if (s.meta.strides.size() != s.meta.sizes.size()) {
      report_.add(Kind::bad_address, "slot {} has {} sizes but {} strides", i, s.meta.sizes.size(),
                  s.meta.strides.size());
      return;
    }
    for (std::size_t d = 0; d < s.meta.sizes.size(); ++d) {
      if (s.meta.sizes[d] < 0 || s.meta.strides[d] < 0) {
        report_.add(Kind::bad_address, "slot {} has a negative size or stride", i);
        return;
      }
    }
    for (const LoopStride& stride : s.loop_strides) {
      if (!in(stride.loop, program_.loops.size())) {
        report_.add(Kind::bad_address, "slot {} moves with the unknown loop {}", i, stride.loop);
        return;
      }
    }
    const ByteRange extent = byte_extent(s.meta);
    const Bytes size = program_.buffers[static_cast<std::size_t>(s.buffer)].size;
    if (s.loop_strides.empty() && !extent.empty() && (extent.begin < 0 || extent.end > size)) {
      report_.add(Kind::bad_address, "slot {} of {} needs bytes [{}, {}) of a buffer of {}", i,
                  report_.value(s.value), extent.begin, extent.end, size);
    }
  }

  void check_slot_id(SlotId id, const char* who) {
    if (id != kNone && !in(id, program_.slots.size())) {
      report_.add(Kind::bad_address, "{} is the unknown slot {}", who, id);
    }
  }

  void check_stream(std::int32_t stream) {
    if (!in(stream, program_.stream_names.size())) {
      report_.add(Kind::missing_event, "a step is on the unknown stream {}", stream);
    }
  }

  void check_event(EventId event, std::int32_t stream) {
    check_stream(stream);
    if (!in(event, static_cast<std::size_t>(std::max(program_.events, 0)))) {
      report_.add(Kind::missing_event, "a step names the unknown event {}", event);
    }
  }

  void check_steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) std::visit([this](const auto& s) { check(s); }, step);
  }

  void check(const Launch& launch) {
    check_stream(launch.stream);
    for (const Arg& arg : launch.args) {
      for_each_ref(arg, [&](const Ref& ref) { check_slot_id(ref.id, "an argument"); });
    }
    for (const SlotId id : launch.outputs) check_slot_id(id, "an output of a step");
    check_slot_id(launch.guard, "a guard");
    for (const ScriptEvent& event : launch.script) check_buffer_id(event.buffer, "a script");
  }
  void check(const Copy& copy) {
    check_stream(copy.stream);
    for (const SlotId id : {copy.from, copy.to}) {
      if (!in(id, program_.slots.size()))
        report_.add(Kind::bad_address, "a copy has the unknown slot {}", id);
    }
  }
  void check(const RecordEvent& step) { check_event(step.event, step.stream); }
  void check(const WaitEvent& step) { check_event(step.event, step.stream); }
  void check(const Release& step) { check_buffer_id(step.buffer, "a release"); }
  void check(const std::vector<LoopStep>& loops) {
    for (const LoopStep& loop : loops) {
      const bool sound = in(loop.loop, program_.loops.size()) && loop.trips >= 0 &&
                         loop.class_of.size() == static_cast<std::size_t>(loop.trips) &&
                         program_.loops[static_cast<std::size_t>(loop.loop)] == loop.trips;
      if (!sound)
        report_.add(Kind::missing_region, "loop {} does not say what each iteration runs",
                    loop.loop);
      for (const std::int32_t body : loop.class_of) {
        if (!in(body, loop.bodies.size()))
          report_.add(Kind::missing_region, "an iteration of loop {} has no body", loop.loop);
      }
      for (const std::vector<Step>& body : loop.bodies) check_steps(body);
    }
  }

  void check_buffer_id(BufferId id, const char* who) {
    if (!in(id, program_.buffers.size()))
      report_.add(Kind::bad_script, "{} names the unknown buffer {}", who, id);
  }

  const Graph& graph_;
  const Program& program_;
  Report& report_;
};

}  // namespace

void check_ids(const Graph& graph, const Program& program, Report& report) {
  IdChecker(graph, program, report).run();
}

}  // namespace lowwater
