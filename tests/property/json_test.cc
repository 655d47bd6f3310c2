// Any program survives JSON; any damage is refused or read, never worse.
#include "plan/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "lowwater/error.h"

namespace lowwater {
namespace {

// A well-formed program (ids in range), not a sound one.
class ProgramMaker {
 public:
  Program make() {
    program_.alignment = Bytes{1} << number(0, 12);
    program_.arena_bytes = number(0, INT64_C(1) << 50);
    program_.constant_bytes = number(0, 1 << 20);
    program_.events = static_cast<std::int32_t>(number(1, 5));
    for (auto i = number(1, 3); i > 0; --i) program_.loops.push_back(number(1, 4));
    for (auto i = number(1, 8); i > 0; --i) program_.buffers.push_back(buffer());
    for (auto i = number(1, 8); i > 0; --i) program_.slots.push_back(slot());
    for (auto i = number(0, 3); i > 0; --i)
      program_.inputs.push_back(id(-1, program_.slots.size()));
    for (auto i = number(0, 3); i > 0; --i)
      program_.outputs.push_back(id(-1, program_.slots.size()));
    program_.once = steps(0);
    program_.steps = steps(2);
    return program_;
  }

 private:
  static std::int64_t number(std::int64_t min, std::int64_t max) {  // both inclusive
    return max == INT64_MAX ? *rc::gen::arbitrary<std::int64_t>()
                            : *rc::gen::inRange<std::int64_t>(min, max + 1);
  }
  static std::int32_t id(std::int64_t min, std::size_t count) {
    return static_cast<std::int32_t>(number(min, static_cast<std::int64_t>(count) - 1));
  }
  static double real() { return *rc::gen::arbitrary<double>(); }

  Buffer buffer() const {
    Buffer buffer;
    buffer.space = static_cast<Space>(number(0, 5));
    buffer.kind = static_cast<BufferKind>(number(0, 5));
    buffer.size = number(0, INT64_C(1) << 50);
    buffer.offset = number(0, INT64_C(1) << 50);
    buffer.index = static_cast<std::int32_t>(number(0, 100));
    buffer.begin = number(0, 1000);
    buffer.end = buffer.begin + number(0, 1000);
    buffer.shares = id(-1, program_.buffers.size());
    buffer.value = static_cast<std::int32_t>(number(-1, 100));
    buffer.node = static_cast<std::int32_t>(number(-1, 100));
    return buffer;
  }

  Slot slot() const {
    Slot slot;
    slot.kind = static_cast<TypeKind>(number(0, 3));
    slot.value = static_cast<std::int32_t>(number(-1, 100));
    if (slot.kind != TypeKind::tensor) return slot;
    slot.buffer = id(0, program_.buffers.size());
    slot.meta.dtype = static_cast<DType>(number(0, static_cast<int>(DType::f8_e5m2fnuz)));
    for (auto i = number(0, 4); i > 0; --i) {
      slot.meta.sizes.push_back(number(0, 1000));
      slot.meta.strides.push_back(number(0, 1000));
    }
    slot.meta.storage_offset = number(0, 1 << 20);
    slot.meta.storage_bytes = number(0, 1 << 20);
    slot.dynamic = number(0, 1) == 1;
    for (auto i = number(0, 2); i > 0; --i)
      slot.loop_strides.push_back({id(0, program_.loops.size()), number(-1000, 1000)});
    return slot;
  }

  Ref ref() const { return {id(-1, program_.slots.size())}; }
  std::vector<Ref> refs() const {
    std::vector<Ref> result;
    for (auto i = number(0, 3); i > 0; --i) result.push_back(ref());
    return result;
  }

  Arg arg() const {
    switch (number(0, 12)) {
      case 0:
        return std::monostate{};
      case 1:
        return ref();
      case 2:
        return RefList{refs()};
      case 3:
        return MixedInts{*rc::gen::arbitrary<std::vector<std::int64_t>>(), refs()};
      case 4:
        return WrappedNumber{real()};
      case 5:
        return WrappedNumber{*rc::gen::arbitrary<std::int64_t>()};
      case 6:
        return number(0, 1) == 1;
      case 7:
        return *rc::gen::arbitrary<std::int64_t>();
      case 8:
        return real();
      case 9:
        return std::complex<double>(real(), real());
      case 10:
        return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
      case 11:
        return *rc::gen::arbitrary<std::vector<double>>();
      default:
        return *rc::gen::arbitrary<std::vector<bool>>();
    }
  }

  Launch launch() const {
    Launch launch{.node = static_cast<std::int32_t>(number(-1, 100)),
                  .op = "aten::op",
                  .args = {},
                  .outputs = {},
                  .script = {}};
    for (auto i = number(0, 5); i > 0; --i) launch.args.push_back(arg());
    for (auto i = number(0, 2); i > 0; --i) launch.outputs.push_back(id(-1, program_.slots.size()));
    for (auto i = number(0, 4); i > 0; --i) {
      const bool is_alloc = number(0, 1) == 1;
      launch.script.push_back(
          {is_alloc, id(0, program_.buffers.size()), is_alloc ? number(0, 1 << 20) : 0});
    }
    launch.guard = id(-1, program_.slots.size());
    launch.guard_when = number(0, 1) == 1;
    launch.stream = id(0, program_.stream_names.size());
    launch.ms = real();
    return launch;
  }

  LoopStep loop(int depth) const {
    LoopStep loop;
    loop.loop = id(0, program_.loops.size());
    loop.trips = program_.loops[static_cast<std::size_t>(loop.loop)];
    for (auto i = number(1, 2); i > 0; --i) loop.bodies.push_back(steps(depth - 1));
    for (std::int64_t i = 0; i < loop.trips; ++i)
      loop.class_of.push_back(id(0, loop.bodies.size()));
    return loop;
  }

  Step step(int depth) const {
    const auto stream = id(0, program_.stream_names.size());
    const auto event = id(0, static_cast<std::size_t>(program_.events));
    switch (number(0, depth > 0 ? 5 : 4)) {
      case 0:
        return Copy{id(0, program_.slots.size()), id(0, program_.slots.size()), stream};
      case 1:
        return RecordEvent{event, stream};
      case 2:
        return WaitEvent{event, stream};
      case 3:
        return Release{id(0, program_.buffers.size())};
      case 4:
        return launch();
      default:
        return std::vector<LoopStep>{loop(depth)};
    }
  }

  std::vector<Step> steps(int depth) const {
    std::vector<Step> result;
    for (auto i = number(0, 4); i > 0; --i) result.push_back(step(depth));
    return result;
  }

  Program program_;
};

RC_GTEST_PROP(PlanJsonProperty, EveryProgramSurvives, ()) {
  const Program program = ProgramMaker().make();
  const std::string text = program_to_json(program);
  const Program back = program_from_json(text);
  RC_ASSERT(print_program(back) == print_program(program));
  RC_ASSERT(program_to_json(back) == text);
}

// One value of the document, at any depth, replaced by something else.
RC_GTEST_PROP(PlanJsonProperty, DamageIsRefusedOrRead, ()) {
  nlohmann::json document = nlohmann::json::parse(program_to_json(ProgramMaker().make()));
  nlohmann::json* place = &document;
  while (place->is_structured() && !place->empty() && *rc::gen::inRange(0, 4) != 0) {
    auto member = place->begin();
    std::advance(member, *rc::gen::inRange<std::size_t>(0, place->size()));
    place = &*member;
  }
  *place = *rc::gen::element<nlohmann::json>(nullptr, -1, 1000000, 0.5, "x", true,
                                             nlohmann::json::array(), nlohmann::json::object());
  try {
    const Program program = program_from_json(document.dump());
    RC_ASSERT(print_program(program_from_json(program_to_json(program))) == print_program(program));
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::bad_input);
  }
}

}  // namespace
}  // namespace lowwater
