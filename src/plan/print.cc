// Programs as text, for golden tests and for reading.
#include <fmt/format.h>

#include <complex>
#include <cstddef>

#include "plan/json.h"
#include "plan/json_names.h"

namespace lowwater {
namespace {

std::string join(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::string print_id(const char* prefix, std::int32_t id) {
  return id < 0 ? "-" : fmt::format("{}{}", prefix, id);
}
std::string print_slot(SlotId id) { return print_id("s", id); }

std::string print_number(const std::complex<double>& z) {
  return fmt::format("({},{})", z.real(), z.imag());
}

struct ArgPrinter {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const Ref& ref) const { return print_slot(ref.id); }
  std::string operator()(const RefList& list) const {
    std::string text;
    for (const Ref& ref : list.refs) text += (text.empty() ? "" : ", ") + print_slot(ref.id);
    return "[" + text + "]";
  }
  std::string operator()(const MixedInts& mixed) const {
    std::string text;
    for (std::size_t i = 0; i < mixed.values.size(); ++i) {
      const bool known = i >= mixed.refs.size() || mixed.refs[i].id < 0;
      text += (text.empty() ? "" : ",") +
              (known ? std::to_string(mixed.values[i]) : print_slot(mixed.refs[i].id));
    }
    return "mixed[" + text + "]";
  }
  std::string operator()(const WrappedNumber& number) const {
    return "number(" + std::visit(*this, number.value) + ")";
  }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{:#}", value); }
  std::string operator()(const std::complex<double>& value) const { return print_number(value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(DType dtype) const { return std::string(dtype_name(dtype)); }
  std::string operator()(MemoryFormat format) const { return std::string(enum_name(format)); }
  std::string operator()(Layout layout) const { return std::string(enum_name(layout)); }
  std::string operator()(DeviceArg device) const { return std::string(enum_name(device)); }
  std::string operator()(const std::vector<bool>& values) const {
    std::string text;
    for (const bool value : values)
      text += std::string(text.empty() ? "" : ",") + (value ? "True" : "False");
    return "[" + text + "]";
  }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    return "[" + join(values) + "]";
  }
  std::string operator()(const std::vector<double>& values) const {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : ",") + (*this)(value);
    return "[" + text + "]";
  }
};

std::string print_buffer(const Buffer& buffer) {
  std::string text(enum_name(buffer.space));
  if (buffer.space == Space::arena || buffer.space == Space::constant) {
    text += fmt::format(" @{}", buffer.offset);
  } else {
    text += fmt::format(" #{}", buffer.index);
  }
  text += fmt::format("  {} B  {}", buffer.size, enum_name(buffer.kind));
  if (buffer.end > 0 || buffer.begin > 0)
    text += fmt::format("  [{},{})", buffer.begin, buffer.end);
  if (buffer.shares >= 0) text += fmt::format("  shares b{}", buffer.shares);
  if (buffer.value >= 0) text += fmt::format("  value {}", buffer.value);
  if (buffer.node >= 0) text += fmt::format("  node {}", buffer.node);
  return text;
}

std::string print_slot_line(const Slot& slot) {
  std::string text;
  if (slot.kind != TypeKind::tensor) {
    text = enum_name(slot.kind);
  } else {
    text = fmt::format("{}  {}[{}]", print_id("b", slot.buffer), dtype_name(slot.meta.dtype),
                       join(slot.meta.sizes));
    if (slot.meta.strides != contiguous_strides(slot.meta.sizes))
      text += fmt::format(" strides ({})", join(slot.meta.strides));
    if (slot.meta.storage_offset != 0) text += fmt::format(" offset {}", slot.meta.storage_offset);
    if (slot.dynamic) text += " dynamic";
  }
  for (const LoopStride& stride : slot.loop_strides)
    text += fmt::format(" +{} B per trip of loop {}", stride.stride, stride.loop);
  if (slot.value >= 0) text += fmt::format("  value {}", slot.value);
  return text;
}

class StepPrinter {
 public:
  explicit StepPrinter(const Program& program) : program_(program) {}

  std::string run(const std::vector<Step>& steps) {
    print(steps, 1);
    return std::move(text_);
  }

 private:
  void print(const std::vector<Step>& steps, std::size_t depth) {
    for (const Step& step : steps) {
      indent_ = std::string(depth * 2, ' ');
      if (const auto* loops = std::get_if<std::vector<LoopStep>>(&step)) {
        for (const LoopStep& loop : *loops) print(loop, depth);
      } else {
        std::visit([&](const auto& plain) { print(plain); }, step);
      }
    }
  }

  std::string stream(std::int32_t id) const {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < program_.stream_names.size() ? program_.stream_names[index]
                                                           : std::to_string(id);
  }

  void line(const std::string& content) { text_ += indent_ + content + "\n"; }

  void print(const Launch& launch) {
    std::string args, outputs, script;
    for (const Arg& arg : launch.args)
      args += (args.empty() ? "" : ", ") + std::visit(ArgPrinter{}, arg);
    for (const SlotId output : launch.outputs)
      outputs += (outputs.empty() ? "" : ", ") + print_slot(output);
    for (const ScriptEvent& event : launch.script) {
      script += event.is_alloc ? fmt::format(" +b{}:{}", event.buffer, event.size)
                               : fmt::format(" -b{}", event.buffer);
    }
    std::string text =
        fmt::format("launch  {}({}) -> {}", launch.op, args, outputs.empty() ? "nothing" : outputs);
    if (!script.empty()) text += "  {" + script + " }";
    if (launch.variant != "aten") text += "  variant " + launch.variant;
    if (launch.guard >= 0) text += fmt::format("  if s{} is {}", launch.guard, launch.guard_when);
    if (launch.stream != 0) text += "  on " + stream(launch.stream);
    text += fmt::format("  node {}", launch.node);
    if (launch.ms != 0) text += fmt::format("  {} ms", launch.ms);
    line(text);
  }
  void print(const Copy& copy) {
    line(fmt::format("copy    {} -> {}  on {}", print_slot(copy.from), print_slot(copy.to),
                     stream(copy.stream)));
  }
  void print(const RecordEvent& step) {
    line(fmt::format("record  e{}  on {}", step.event, stream(step.stream)));
  }
  void print(const WaitEvent& step) {
    line(fmt::format("wait    e{}  on {}", step.event, stream(step.stream)));
  }
  void print(const Release& step) { line(fmt::format("release {}", print_id("b", step.buffer))); }
  void print(const std::vector<LoopStep>&) {}

  void print(const LoopStep& loop, std::size_t depth) {
    const std::string indent(depth * 2, ' ');
    text_ += fmt::format("{}loop {}, {} trips, classes {}\n", indent, loop.loop, loop.trips,
                         fmt::join(loop.class_of, " "));
    for (std::size_t i = 0; i < loop.bodies.size(); ++i) {
      text_ += fmt::format("{}class {}\n", indent, i);
      print(loop.bodies[i], depth + 1);
    }
  }

  const Program& program_;
  std::string text_, indent_;
};

std::string print_slots(const std::vector<SlotId>& slots) {
  std::string text;
  for (const SlotId slot : slots) text += " " + print_slot(slot);
  return text + "\n";
}

}  // namespace

std::string print_program(const Program& program) {
  std::string text = fmt::format("alignment {}  arena {}  once {}  constants {}  events {}\n",
                                 program.alignment, program.arena_bytes, program.once_arena_bytes,
                                 program.constant_bytes, program.events);
  text += fmt::format("streams {}\n", fmt::join(program.stream_names, " "));
  if (!program.loops.empty()) text += fmt::format("loops {}\n", fmt::join(program.loops, " "));
  text += "inputs " + print_slots(program.inputs);
  text += "outputs" + print_slots(program.outputs);
  text += "buffers\n";
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    text += fmt::format("  b{}  {}\n", i, print_buffer(program.buffers[i]));
  text += "slots\n";
  for (std::size_t i = 0; i < program.slots.size(); ++i)
    text += fmt::format("  s{}  {}\n", i, print_slot_line(program.slots[i]));
  if (!program.once.empty()) text += "once\n" + StepPrinter(program).run(program.once);
  text += "steps\n" + StepPrinter(program).run(program.steps);
  return text;
}

}  // namespace lowwater
