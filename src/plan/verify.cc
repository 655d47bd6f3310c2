// The walk over the steps. What each step may do to memory is in
// verify_memory.cc, what it must mean in verify_meaning.cc.
#include "plan/verify.h"

#include <algorithm>
#include <utility>

#include "ops/op_table.h"
#include "plan/verify_ids.h"
#include "plan/verify_meaning.h"
#include "plan/verify_memory.h"
#include "plan/verify_report.h"
#include "plan/verify_views.h"

namespace lowwater {
namespace {

using Kind = Violation::Kind;

class Verifier {
 public:
  Verifier(const Graph& graph, const Program& program)
      : graph_(graph),
        program_(program),
        report_(graph, program),
        memory_(program, report_),
        meaning_(graph, program, report_),
        iteration_(program.loops.size(), 0) {}

  std::vector<Violation> run() {
    walk(program_.once);
    const Bytes once = highest();
    check_size("once_arena_bytes", program_.once_arena_bytes, once);
    memory_.begin_run();
    meaning_.begin_run();
    walk(program_.steps);
    report_.set_place("after the last step");
    check_size("arena_bytes", program_.arena_bytes, std::max(once, highest()));
    check_constants();
    meaning_.check_outputs();
    for (const SlotId id : program_.outputs) {
      if (id != kNone) touch(id, {kComputeStream, 0}, false);
    }
    return report_.take();
  }

 private:
  static constexpr std::int32_t kComputeStream = 0;

  [[nodiscard]] const Slot& slot(SlotId id) const {
    return program_.slots[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Buffer& buffer(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] BufferId buffer_of(SlotId id) const { return id < 0 ? kNone : slot(id).buffer; }

  // --- the walk -----------------------------------------------------------------
  void walk(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      ++position_;
      std::visit([this](const auto& s) { visit(s); }, step);
    }
  }

  void visit(const std::vector<LoopStep>& loops) {
    for (const LoopStep& loop : loops) {
      ++depth_;
      for (std::int64_t i = 0; i < loop.trips; ++i) {
        iteration_[static_cast<std::size_t>(loop.loop)] = i;
        walk(loop.bodies[static_cast<std::size_t>(loop.class_of[static_cast<std::size_t>(i)])]);
      }
      --depth_;
    }
  }

  void visit(const RecordEvent& step) {
    memory_.clocks().tick(step.stream);
    memory_.clocks().record(step.event, step.stream);
  }

  void visit(const WaitEvent& step) {
    report_.set_place(fmt::format("step {}", position_));
    if (!memory_.clocks().wait(step.event, step.stream)) {
      report_.add(Kind::missing_event, "stream {} waits for event {}, which nobody recorded",
                  report_.stream(step.stream), step.event);
    }
  }

  void visit(const Release& step) {
    report_.set_place(fmt::format("step {}, release", position_));
    memory_.release(step.buffer);
  }

  void visit(const Copy& step) {
    report_.set_place(
        fmt::format("step {}, copy of {}", position_, report_.value(slot(step.from).value)));
    const Moment moment = memory_.clocks().tick(step.stream);
    read(step.from, moment);
    const BufferId id = buffer_of(step.to);
    if (id == kNone) return;
    if (memory_.life(id) != Memory::Life::live) grant(id, moment, nullptr);
    const Space space = buffer(id).space;
    const bool over =
        space == Space::weight || space == Space::input || buffer(id).kind == BufferKind::input;
    memory_.write(id, present(slot(step.to)), moment, over);
    meaning_.copy(step.from, step.to);
  }

  void visit(const Launch& launch) {
    report_.set_place(fmt::format("step {}, {}", position_, report_.launch(launch)));
    const Moment moment = memory_.clocks().tick(launch.stream);
    for (const SlotId operand : operands(launch)) read(operand, moment);
    meaning_.check_launch(launch, depth_ > 0);
    const std::vector<BufferId> granted = run_script(launch, moment);
    for (const SlotId output : launch.outputs) {
      if (output != kNone) finish_output(launch, output, granted, moment);
    }
    // A temporary that its step did not free lives until the step's end.
    for (const BufferId id : granted) {
      const bool temporary = buffer(id).kind == BufferKind::temporary;
      if (temporary && memory_.life(id) == Memory::Life::live) memory_.release(id);
    }
  }

  static std::vector<SlotId> operands(const Launch& launch) {
    std::vector<SlotId> slots;
    const auto add = [&](SlotId id) {
      if (std::find(slots.begin(), slots.end(), id) == slots.end()) slots.push_back(id);
    };
    for (const Arg& arg : launch.args) for_each_ref(arg, [&](const Ref& ref) { add(ref.id); });
    if (launch.guard != kNone) add(launch.guard);
    return slots;
  }

  // Returns the buffers that the launch brought to life.
  std::vector<BufferId> run_script(const Launch& launch, const Moment& moment) {
    std::vector<BufferId> granted;
    for (const ScriptEvent& event : launch.script) {
      const bool mine = std::find(granted.begin(), granted.end(), event.buffer) != granted.end();
      if (!event.is_alloc) {
        if (!mine)
          report_.add(Kind::bad_script, "frees {}, which it did not allocate",
                      report_.buffer(event.buffer));
        memory_.release(event.buffer);
        continue;
      }
      if (event.size > buffer(event.buffer).size) {
        report_.add(Kind::bad_script, "allocates {} bytes for {}", event.size,
                    report_.buffer(event.buffer));
      }
      grant(event.buffer, moment, &launch);
      granted.push_back(event.buffer);
    }
    return granted;
  }

  void finish_output(const Launch& launch, SlotId id, const std::vector<BufferId>& granted,
                     const Moment& moment) {
    const BufferId home = buffer_of(id);
    if (home == kNone) return meaning_.hold(id);
    const bool fresh = std::find(granted.begin(), granted.end(), home) != granted.end();
    if (!fresh && buffer(home).size == 0) return meaning_.hold(id);  // no elements, no allocation
    if (!fresh && reads_buffer(launch, home)) {                      // a view of an operand
      memory_.read(home, present(slot(id)), moment);
      return meaning_.check_use(id);
    }
    if (!fresh && memory_.life(home) != Memory::Life::live) {
      report_.add(Kind::bad_script, "puts {} into {}, which its script does not allocate",
                  report_.value(slot(id).value), report_.buffer(home));
      return;
    }
    memory_.write(home, present(slot(id)), moment, fresh);
    meaning_.hold(id);
  }

  [[nodiscard]] bool reads_buffer(const Launch& launch, BufferId id) const {
    const std::vector<SlotId> slots = operands(launch);
    return std::any_of(slots.begin(), slots.end(), [&](SlotId s) { return buffer_of(s) == id; });
  }

  // --- accesses -------------------------------------------------------------------
  // The slot's place in the present iteration.
  TensorMeta present(const Slot& s) {
    TensorMeta meta = s.meta;
    const std::int64_t size = element_size(meta.dtype);
    for (const LoopStride& stride : s.loop_strides) {
      const Bytes bytes = iteration_[static_cast<std::size_t>(stride.loop)] * stride.stride;
      if (bytes % size != 0)
        report_.add(Kind::bad_address, "a slot of {} moves by part of an element",
                    report_.value(s.value));
      meta.storage_offset += bytes / size;
    }
    return meta;
  }

  void read(SlotId id, const Moment& moment) {
    touch(id, moment, true);
    meaning_.check_use(id);
  }

  void touch(SlotId id, const Moment& moment, bool ordered) {
    const Slot& s = slot(id);
    if (s.kind != TypeKind::tensor || s.buffer == kNone || buffer(s.buffer).size == 0) return;
    if (ordered) return memory_.read(s.buffer, present(s), moment);
    // After the run the host waits for all streams: look at bytes only.
    memory_.check(s.buffer, present(s));
  }

  // --- granting and sharing ---------------------------------------------------------
  void grant(BufferId id, const Moment& moment, const Launch* launch) {
    const Buffer& b = buffer(id);
    bool heir = false;
    if (b.shares != kNone) {
      const std::string why = launch == nullptr ? "only an operator may" : why_not(*launch, id);
      heir = memory_.life(b.shares) == Memory::Life::live;
      if (!why.empty() || !heir) {
        report_.add(Kind::overlap, "{} may not take the address of {}: {}", report_.buffer(id),
                    report_.buffer(b.shares), why.empty() ? "it is not live" : why);
      }
    }
    memory_.grant(id, moment, heir);
    meaning_.forget(id);
  }

  // Empty if the operator table allows output 0 of the launch to take the place
  // of its operand.
  [[nodiscard]] std::string why_not(const Launch& launch, BufferId id) const {
    const Buffer& heir = buffer(id);
    const Buffer& old = buffer(heir.shares);
    if (heir.space != Space::arena || old.space != Space::arena) return "both must be in the arena";
    if (heir.offset != old.offset || heir.size > old.size) return "address or size differ";
    const OpRow* row = find_op(launch.op);
    if (row == nullptr || row->share_mask == 0) return "the operator does not allow it";
    if (launch.guard != kNone || graph_.node(launch.node).barrier)
      return "the operator may not run or writes operands";
    if (launch.outputs.empty() || buffer_of(launch.outputs[0]) != id)
      return "it is not the first output";
    for (std::size_t i = 1; i < launch.outputs.size(); ++i) {
      if (buffer_of(launch.outputs[i]) == id) return "it holds two outputs";
    }
    const Slot& out = slot(launch.outputs[0]);
    bool found = false;
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      const bool allowed = i < 32 && ((row->share_mask >> i) & 1U) != 0 &&
                           std::holds_alternative<Ref>(launch.args[i]);
      std::string problem;
      for_each_ref(launch.args[i], [&](const Ref& ref) {
        if (buffer_of(ref.id) != heir.shares) return;
        const Slot& operand = slot(ref.id);
        if (!allowed) problem = "another operand is there";
        if (operand.meta.sizes != out.meta.sizes || !same_sequence(operand.meta, out.meta))
          problem = "the layouts differ";
        found = true;
      });
      if (!problem.empty()) return problem;
    }
    return found ? "" : "it is no operand";
  }

  // --- sizes --------------------------------------------------------------------------
  [[nodiscard]] Bytes highest() const {
    return align_up(memory_.highest_end(), program_.alignment);
  }

  void check_size(const char* name, Bytes claimed, Bytes needed) {
    if (claimed != needed) {
      report_.add(Kind::wrong_peak, "{} is {} but the buffers need {}", name, claimed, needed);
    }
  }

  // Constants live for ever: no two may overlap.
  void check_constants() {
    std::vector<BufferId> constants;
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      if (b.space == Space::constant && b.size > 0) constants.push_back(static_cast<BufferId>(i));
    }
    std::sort(constants.begin(), constants.end(),
              [&](BufferId a, BufferId b) { return buffer(a).offset < buffer(b).offset; });
    Bytes end = 0;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const Buffer& b = buffer(constants[i]);
      if (i > 0 && b.offset < end) {
        report_.add(Kind::overlap, "the constant {} is placed on {}", report_.buffer(constants[i]),
                    report_.buffer(constants[i - 1]));
      }
      end = std::max(end, b.offset + b.size);
    }
    check_size("constant_bytes", program_.constant_bytes, align_up(end, program_.alignment));
  }

  const Graph& graph_;
  const Program& program_;
  Report report_;
  Memory memory_;
  Meaning meaning_;
  std::vector<std::int64_t> iteration_;  // of each loop
  int depth_ = 0;                        // of loops around the present step
  std::int64_t position_ = 0;            // steps so far, iterations counted
};

}  // namespace

std::vector<Violation> verify_program(const Graph& graph, const Program& program) {
  // Ids out of range would lead the walk astray: they are the whole answer then.
  Report report(graph, program);
  check_ids(graph, program, report);
  if (!report.empty()) return report.take();
  return Verifier(graph, program).run();
}

}  // namespace lowwater
