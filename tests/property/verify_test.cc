// The verifier against lowering and packing: their programs are sound, and
// every mistake that is put into one is found.
#include "plan/verify.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "plan/json.h"
#include "plan/lower.h"
#include "random_schedule.h"

namespace lowwater {
namespace {

Pick drawing() {
  return [](int limit) { return *rc::gen::inRange(0, limit); };
}

struct Planned {
  Graph graph;
  Program program;
};

Planned random_program(const Pick& pick, std::optional<IoPlace> io = std::nullopt) {
  Planned made{random_graph(pick), {}};
  FakeCosts costs(kRandomGraphRules);
  const WeightTable weights = weights_of(made.graph);
  const std::vector<bool> constant = random_constants(made.graph, pick);
  LowerOptions options;
  options.io = io ? *io : pick(2) == 0 ? IoPlace::device : IoPlace::host;
  options.share_addresses = pick(4) != 0;
  const Facts facts = collect_facts(made.graph, weights, costs);
  const Schedule schedule = random_schedule(made.graph, constant, pick);
  made.program = lower(made.graph, weights, schedule, facts, costs, options);
  plan_addresses(made.program, 0);
  RC_LOG() << print_graph(made.graph) << print_program(made.program);
  return made;
}

std::string list(const std::vector<Violation>& violations) {
  std::string out;
  for (const Violation& violation : violations) out += violation.what + "\n";
  return out;
}

bool has(const std::vector<Violation>& violations, Violation::Kind kind) {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const Violation& violation) { return violation.kind == kind; });
}

template <typename T>
const T& one_of(const std::vector<T>& items, const Pick& pick) {
  return items[static_cast<std::size_t>(pick(static_cast<int>(items.size())))];
}

// The buffers that a step touches.
std::set<BufferId> touched(const Program& program, const Step& step) {
  std::set<BufferId> buffers;
  const auto add = [&](SlotId id) {
    if (id >= 0) buffers.insert(program.slots[static_cast<std::size_t>(id)].buffer);
  };
  if (const auto* copy = std::get_if<Copy>(&step)) {
    add(copy->from);
    add(copy->to);
  } else if (const auto* launch = std::get_if<Launch>(&step)) {
    for (const Arg& arg : launch->args) for_each_ref(arg, [&](const Ref& ref) { add(ref.id); });
    for (const SlotId id : launch->outputs) add(id);
    for (const ScriptEvent& event : launch->script) buffers.insert(event.buffer);
  }
  return buffers;
}

RC_GTEST_PROP(VerifyProperty, LoweredProgramsAreSound, ()) {
  const Planned planned = random_program(drawing());
  RC_ASSERT(list(verify_program(planned.graph, planned.program)) == "");
}

// Pairs of arena buffers that live at the same time of a run.
std::vector<std::pair<BufferId, BufferId>> neighbours_in_time(const Program& program) {
  const std::vector<Buffer>& buffers = program.buffers;
  std::set<BufferId> in_run;
  for (const Step& step : program.steps) in_run.merge(touched(program, step));
  std::vector<std::pair<BufferId, BufferId>> together;
  for (const BufferId a : in_run) {
    for (const BufferId b : in_run) {
      if (a < 0 || b < 0) continue;
      const Buffer& x = buffers[static_cast<std::size_t>(a)];
      const Buffer& y = buffers[static_cast<std::size_t>(b)];
      const bool arena =
          x.space == Space::arena && y.space == Space::arena && x.size > 0 && y.size > 0;
      if (a != b && arena && x.begin < y.end && y.begin < x.end) together.emplace_back(a, b);
    }
  }
  return together;
}

RC_GTEST_PROP(VerifyProperty, FindsEveryOverlap, ()) {
  const Pick pick = drawing();
  Planned planned = random_program(pick);
  std::vector<Buffer>& buffers = planned.program.buffers;
  const auto together = neighbours_in_time(planned.program);
  if (together.empty()) return;
  const auto [a, b] = one_of(together, pick);
  buffers[static_cast<std::size_t>(b)].offset = buffers[static_cast<std::size_t>(a)].offset;
  const std::vector<Violation> found = verify_program(planned.graph, planned.program);
  RC_LOG() << "buffer " << b << " on " << a << "\n" << list(found);
  // Near the arena's end the larger one sticks out: that is said first.
  RC_ASSERT(has(found, Violation::Kind::overlap) || has(found, Violation::Kind::bad_address));
}

RC_GTEST_PROP(VerifyProperty, FindsEveryEarlyRelease, ()) {
  const Pick pick = drawing();
  Planned planned = random_program(pick);
  std::vector<Step>& steps = planned.program.steps;
  std::vector<std::size_t> releases;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::holds_alternative<Release>(steps[i])) releases.push_back(i);
  }
  if (releases.empty()) return;
  const std::size_t release = one_of(releases, pick);
  const BufferId buffer = std::get<Release>(steps[release]).buffer;
  std::size_t last = release;
  while (last > 0 && !touched(planned.program, steps[last - 1]).contains(buffer)) --last;
  RC_ASSERT(last > 0);
  // In front of the last step that touches the buffer.
  std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(last) - 1,
              steps.begin() + static_cast<std::ptrdiff_t>(release),
              steps.begin() + static_cast<std::ptrdiff_t>(release) + 1);
  const std::vector<Violation> found = verify_program(planned.graph, planned.program);
  RC_LOG() << "buffer " << buffer << "\n" << list(found);
  RC_ASSERT(has(found, Violation::Kind::early_release) || has(found, Violation::Kind::bad_script));
}

std::int32_t stream_of(const Step& step) {
  if (const auto* copy = std::get_if<Copy>(&step)) return copy->stream;
  const auto* launch = std::get_if<Launch>(&step);
  return launch != nullptr ? launch->stream : kNone;
}

std::set<BufferId> written(const Program& program, const Step& step) {
  std::set<BufferId> buffers;
  const auto* copy = std::get_if<Copy>(&step);
  if (copy != nullptr) buffers.insert(program.slots[static_cast<std::size_t>(copy->to)].buffer);
  const auto* launch = std::get_if<Launch>(&step);
  if (launch == nullptr) return buffers;
  for (const ScriptEvent& event : launch->script) buffers.insert(event.buffer);
  return buffers;
}

bool meet(const std::set<BufferId>& a, const std::set<BufferId>& b) {
  return std::any_of(a.begin(), a.end(), [&](BufferId id) { return id >= 0 && b.contains(id); });
}

// Do a step before the event and one behind the wait touch the same buffer, one
// of them writing? (Each event of a lowered program is the only order between
// its streams in that direction.)
bool matters(const Program& program, std::size_t at) {
  const WaitEvent& wait = std::get<WaitEvent>(program.steps[at]);
  std::size_t record = 0;
  for (std::size_t i = 0; i < at; ++i) {
    const auto* step = std::get_if<RecordEvent>(&program.steps[i]);
    if (step != nullptr && step->event == wait.event) record = i;
  }
  const std::int32_t other = std::get<RecordEvent>(program.steps[record]).stream;
  std::set<BufferId> touched_before, written_before;
  for (std::size_t i = 0; i < record; ++i) {
    if (stream_of(program.steps[i]) != other) continue;
    touched_before.merge(touched(program, program.steps[i]));
    written_before.merge(written(program, program.steps[i]));
  }
  for (std::size_t i = at + 1; i < program.steps.size(); ++i) {
    if (stream_of(program.steps[i]) != wait.stream) continue;
    if (meet(touched(program, program.steps[i]), written_before)) return true;
    if (meet(written(program, program.steps[i]), touched_before)) return true;
  }
  return false;
}

RC_GTEST_PROP(VerifyProperty, FindsEveryMissingWait, ()) {
  const Pick pick = drawing();
  Planned planned = random_program(pick, IoPlace::host);
  std::vector<Step>& steps = planned.program.steps;
  std::vector<std::size_t> waits;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::holds_alternative<WaitEvent>(steps[i]) && matters(planned.program, i))
      waits.push_back(i);
  }
  if (waits.empty()) return;
  const std::size_t wait = one_of(waits, pick);
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(wait));
  const std::vector<Violation> found = verify_program(planned.graph, planned.program);
  RC_LOG() << "wait at " << wait << "\n" << list(found);
  RC_ASSERT(has(found, Violation::Kind::missing_event));
}

// A pointwise operator over tiles of rows (the last may be smaller), each
// written into its rows of the whole result.
struct Tiled {
  Graph graph;
  Program program;
};

Tiled tiled(std::int64_t rows, std::int64_t columns, std::int64_t tile) {
  Tiled made;
  made.graph =
      parse_graph(fmt::format("graph(%x: f32[{0},{1}]): %a: f32[{0},{1}] = aten::relu(%x) %b: "
                              "f32[{0},{1}] = aten::neg(%a) return (%b)",
                              rows, columns));
  const Bytes row = 4 * columns;
  const auto slot = [&](BufferId buffer, ValueId value, std::int64_t count, bool moves) {
    Slot s{TypeKind::tensor,
           buffer,
           {DType::f32, {count, columns}, {columns, 1}, 0, 0},
           {},
           false,
           value};
    if (moves) s.loop_strides = {{0, tile * row}};
    return s;
  };
  Program& p = made.program;
  const std::int64_t trips = (rows + tile - 1) / tile, last = rows - (trips - 1) * tile;
  const Bytes whole = align_up(rows * row, 64);
  p.buffers = {{Space::input, BufferKind::input, rows * row},
               {Space::arena, BufferKind::value, rows * row, 0},
               {Space::arena, BufferKind::value, tile * row, whole},
               {Space::output, BufferKind::output, rows * row}};
  p.slots = {slot(0, 0, rows, false), slot(1, 1, rows, false), slot(3, 2, rows, false)};
  p.inputs = {0};
  p.outputs = {2};
  p.loops = {trips};
  p.arena_bytes = whole + align_up(tile * row, 64);
  LoopStep loop;
  loop.trips = trips;
  for (std::int64_t i = 0; i < trips; ++i) {
    const std::int64_t count = i + 1 == trips ? last : tile;
    const auto first = static_cast<SlotId>(p.slots.size());
    p.slots.push_back(slot(0, 0, count, true));   // x, this tile
    p.slots.push_back(slot(2, 0, count, false));  // its copy
    p.slots.push_back(slot(1, 1, count, true));   // rows of a
    Launch launch;
    launch.node = 0;
    launch.op = "aten::relu";
    launch.args = {Ref{first + 1}};
    launch.outputs = {first + 2};
    if (i == 0) launch.script = {{true, 1, rows * row}};
    loop.bodies.push_back({Copy{first, first + 1}, launch, Release{2}});
    loop.class_of.push_back(static_cast<std::int32_t>(i));
  }
  Launch launch;
  launch.node = 1;
  launch.op = "aten::neg";
  launch.args = {Ref{1}};
  launch.outputs = {2};
  launch.script = {{true, 3, rows * row}};
  p.steps = {std::vector<LoopStep>{loop}, launch, Release{1}};
  return made;
}

RC_GTEST_PROP(VerifyProperty, FindsEveryMissingTile, ()) {
  const Pick pick = drawing();
  const std::int64_t rows = 2 + pick(30), columns = 1 + pick(8),
                     tile = 1 + pick(static_cast<int>(rows) - 1);  // two tiles at least
  Tiled made = tiled(rows, columns, tile);
  RC_ASSERT(list(verify_program(made.graph, made.program)) == "");
  LoopStep& loop = std::get<std::vector<LoopStep>>(made.program.steps[0])[0];
  // Another tile (not the one that allocates) writes what its neighbour writes, or nothing.
  const auto missing = static_cast<std::size_t>(1 + pick(static_cast<int>(loop.trips) - 1));
  if (pick(2) == 0) {
    loop.bodies[missing].erase(loop.bodies[missing].begin() + 1);
    RC_ASSERT(has(verify_program(made.graph, made.program), Violation::Kind::missing_region));
  } else {
    auto& launch = std::get<Launch>(loop.bodies[missing][1]);
    made.program.slots[static_cast<std::size_t>(launch.outputs[0])].loop_strides[0].stride -=
        tile * 4 * columns;
    const auto found = verify_program(made.graph, made.program);
    RC_LOG() << list(found);
    RC_ASSERT(has(found, Violation::Kind::overlap) && has(found, Violation::Kind::missing_region));
  }
}

}  // namespace
}  // namespace lowwater
