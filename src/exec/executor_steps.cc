#include "exec/executor_steps.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lowwater/error.h"

namespace lowwater {
namespace {

// Sizes that only the kernel knows: its allocations may be smaller than planned.
bool data_dependent(const Program& program, const Launch& launch) {
  const auto dynamic = [&](SlotId slot) {
    return slot != kNone && program.slots.at(static_cast<std::size_t>(slot)).dynamic;
  };
  bool any = std::any_of(launch.outputs.begin(), launch.outputs.end(), dynamic);
  for (const Arg& arg : launch.args) {
    for_each_ref(arg, [&](const Ref& ref) { any = any || dynamic(ref.id); });
  }
  return any;
}

PreparedLaunch prepare(const Program& program, const Launch& launch, const Places& places,
                       c10::Device device) {
  PreparedLaunch ready{&launch, PreparedCall(launch.op, launch.args, device), {}, {}, {}};
  const bool slack = data_dependent(program, launch);
  for (const ScriptEvent& event : launch.script) {
    if (!event.is_alloc) continue;
    const Buffer& buffer = program.buffers.at(static_cast<std::size_t>(event.buffer));
    ready.allocated.push_back(event.buffer);
    ready.planned.push_back({places.address(event.buffer), event.size, slack});
    if (buffer.shares != kNone) ready.taken_over.push_back(buffer.shares);
  }
  return ready;
}

bool is_random(const std::string& op) {
  const std::size_t dot = op.find('.');
  const c10::OperatorName name(op.substr(0, dot),
                               dot == std::string::npos ? "" : op.substr(dot + 1));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  return handle.has_value() && handle->hasTag(at::Tag::nondeterministic_seeded);
}

}  // namespace

std::vector<PreparedStep> prepare_steps(const Program& program, const std::vector<Step>& steps,
                                        const Places& places, c10::Device device) {
  std::vector<PreparedStep> ready;
  ready.reserve(steps.size());
  for (const Step& step : steps) {
    if (const auto* launch = std::get_if<Launch>(&step)) {
      ready.emplace_back(prepare(program, *launch, places, device));
    } else if (const auto* loops = std::get_if<std::vector<LoopStep>>(&step)) {
      for (const LoopStep& loop : *loops) {
        auto made =
            std::make_unique<PreparedLoop>(PreparedLoop{loop.loop, loop.trips, {}, loop.class_of});
        for (const auto& body : loop.bodies) {
          made->bodies.push_back(prepare_steps(program, body, places, device));
        }
        ready.emplace_back(std::move(made));
      }
    } else if (const auto* copy = std::get_if<Copy>(&step)) {
      ready.emplace_back(*copy);
    } else if (const auto* record = std::get_if<RecordEvent>(&step)) {
      ready.emplace_back(*record);
    } else if (const auto* wait = std::get_if<WaitEvent>(&step)) {
      ready.emplace_back(*wait);
    } else {
      ready.emplace_back(std::get<Release>(step));
    }
  }
  return ready;
}

std::string cannot_capture(const Program& program) {
  std::string why;
  for_each_step(program.steps, [&](const Step& step) {
    const auto* launch = std::get_if<Launch>(&step);
    if (launch == nullptr || !why.empty()) return;
    if (launch->guard != kNone) why = launch->op + " runs only under a condition";
    if (data_dependent(program, *launch)) why = launch->op + " has a size known only at run time";
    if (is_random(launch->op)) why = launch->op + " draws random numbers";
    for (const SlotId slot : launch->outputs) {
      const bool number =
          slot != kNone && program.slots[static_cast<std::size_t>(slot)].kind != TypeKind::tensor;
      if (number) why = launch->op + " gives a number to the host";
    }
  });
  return why;
}

bool draws_random(const std::vector<Step>& steps) {
  bool any = false;
  for_each_step(steps, [&](const Step& step) {
    const auto* launch = std::get_if<Launch>(&step);
    any = any || (launch != nullptr && is_random(launch->op));
  });
  return any;
}

}  // namespace lowwater
