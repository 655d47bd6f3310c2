#include "plan/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <nlohmann/json.hpp>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using nlohmann::json;

// Has everything that a program can have.
Program rich_program() {
  Program program;
  program.buffers = {{.space = Space::input, .kind = BufferKind::input, .size = 64},
                     {.size = 64, .begin = 0, .end = 4, .value = 1, .node = 0},
                     {.size = 64, .offset = 128, .begin = 4, .end = 9, .shares = 1},
                     {.space = Space::host, .kind = BufferKind::staging, .size = 64, .index = 2}};
  program.loops = {3};
  program.slots = {{.buffer = 0,
                    .meta = {DType::f32, {4, 4}, {4, 1}, 0, 64},
                    .loop_strides = {{0, 16}},
                    .value = 0},
                   {.buffer = 1,
                    .meta = {DType::bf16, {2, 2}, {1, 2}, 3, 64},
                    .loop_strides = {},
                    .dynamic = true,
                    .value = 1},
                   {.kind = TypeKind::integer, .meta = {}, .loop_strides = {}}};
  Launch launch{.node = 7,
                .op = "aten::all",
                .args = {},
                .outputs = {1, kNone},
                .script = {{true, 1, 60}, {false, 1, 0}},
                .variant = "capped",
                .guard = 2,
                .guard_when = false,
                .stream = 1,
                .ms = 0.1};
  const double infinity = std::numeric_limits<double>::infinity();
  launch.args = {std::monostate{},
                 Ref{0},
                 RefList{{{1}, {kNone}}},
                 RefList{},
                 MixedInts{{2, 8}, {{kNone}, {2}}},
                 WrappedNumber{true},
                 WrappedNumber{std::int64_t{3}},
                 WrappedNumber{3.0},
                 WrappedNumber{std::complex<double>{1, -2}},
                 true,
                 std::int64_t{-5},
                 INT64_MIN,
                 INT64_MAX,
                 5.0,
                 -0.0,
                 1e-300,
                 infinity,
                 -infinity,
                 std::complex<double>{infinity, 0.5},
                 std::string("\"text\" \n"),
                 DType::f8_e5m2,
                 MemoryFormat::channels_last_3d,
                 Layout::strided,
                 DeviceArg::plan_device,
                 DeviceArg::host,
                 std::vector<bool>{true, false},
                 std::vector<std::int64_t>{},
                 std::vector<std::int64_t>{1, -2},
                 std::vector<double>{},
                 std::vector<double>{0.1, -infinity}};
  program.once = {launch};
  LoopStep loop{0, 3, {{Copy{0, 1, 1}}, {Copy{0, 1, 2}, Release{1}}}, {0, 1, 0}};
  program.steps = {RecordEvent{0, 1}, WaitEvent{1, 0}, std::vector<LoopStep>{loop}, Release{2}};
  program.inputs = {0, kNone};
  program.outputs = {1};
  program.events = 2;
  program.alignment = 512;
  program.arena_bytes = 1024;
  program.once_arena_bytes = 512;
  program.constant_bytes = 64;
  program.stream_names.push_back("peer");
  return program;
}

TEST(PlanJson, RoundTrip) {
  const Program program = rich_program();
  const std::string text = program_to_json(program);
  const Program back = program_from_json(text);
  EXPECT_EQ(print_program(back), print_program(program));
  EXPECT_EQ(program_to_json(back), text);
  EXPECT_EQ(std::get<Launch>(back.once[0]).args, std::get<Launch>(program.once[0]).args);
  EXPECT_TRUE(std::signbit(std::get<double>(std::get<Launch>(back.once[0]).args[14])));
  EXPECT_EQ(back.slots[1].meta, program.slots[1].meta);
}

TEST(PlanJson, NotANumberSurvives) {
  Program program;
  program.steps = {Launch{
      .op = "x", .args = {std::numeric_limits<double>::quiet_NaN()}, .outputs = {}, .script = {}}};
  const Program back = program_from_json(program_to_json(program));
  EXPECT_TRUE(std::isnan(std::get<double>(std::get<Launch>(back.steps[0]).args[0])));
}

TEST(PlanJson, UnknownKeysAreIgnored) {
  json document = json::parse(program_to_json(rich_program()));
  document["comment"] = "made by hand";
  document["buffers"][0]["colour"] = {1, 2};
  EXPECT_EQ(print_program(program_from_json(document.dump())), print_program(rich_program()));
}

std::string failure(const std::string& text) {
  try {
    program_from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "accepted";
}

struct Damage {
  const char* pointer;  // where in the document
  json value;           // what to put there
  const char* message;
};

class PlanJsonDamage : public testing::TestWithParam<Damage> {};

TEST_P(PlanJsonDamage, IsRefusedWithItsPath) {
  json document = json::parse(program_to_json(rich_program()));
  document[json::json_pointer(GetParam().pointer)] = GetParam().value;
  EXPECT_EQ(failure(document.dump()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanJsonDamage,
    testing::Values(
        Damage{"/alignment", 48, "plan JSON: alignment: not a power of two"},
        Damage{"/arena_bytes", -1, "plan JSON: arena_bytes: -1 is not in 0..1152921504606846976"},
        Damage{"/arena_bytes", 1.5, "plan JSON: arena_bytes: expected an integer"},
        Damage{"/arena_bytes", UINT64_MAX, "plan JSON: arena_bytes: expected an integer"},
        Damage{"/buffers", 3, "plan JSON: buffers: expected a list"},
        Damage{"/buffers/0", json::object(), "plan JSON: buffers[0]: 'space' is missing"},
        Damage{"/buffers/1/space", "moon", "plan JSON: buffers[1].space: unknown name 'moon'"},
        Damage{"/buffers/2/shares", 2, "plan JSON: buffers[2].shares: 2 is not in -1..1"},
        Damage{"/buffers/2/end", 3,
               "plan JSON: buffers[2].end: 3 is not in 4..1152921504606846976"},
        Damage{"/slots/0/buffer", 4, "plan JSON: slots[0].buffer: 4 is not in 0..3"},
        Damage{"/slots/0/dtype", "f33", "plan JSON: slots[0].dtype: unknown type 'f33'"},
        Damage{"/slots/0/strides", json::array({1}),
               "plan JSON: slots[0]: sizes and strides differ in length"},
        Damage{"/slots/0/sizes", json::array({INT64_C(1) << 40, INT64_C(1) << 40}),
               "plan JSON: slots[0]: a tensor too large to address"},
        Damage{"/slots/0/loop_strides/0/loop", 1,
               "plan JSON: slots[0].loop_strides[0].loop: 1 is not in 0..0"},
        Damage{"/inputs/0", 3, "plan JSON: inputs[0]: 3 is not in -1..2"},
        Damage{"/once/0/args/1/slot", 3, "plan JSON: once[0].args[1].slot: 3 is not in -1..2"},
        Damage{"/once/0/args/3", json::object(),
               "plan JSON: once[0].args[3]: an argument of no known kind"},
        Damage{"/once/0/args/3", 0.5, "plan JSON: once[0].args[3]: expected an object"},
        Damage{"/once/0/script/0/alloc", 9, "plan JSON: once[0].script[0].alloc: 9 is not in 0..3"},
        Damage{"/once/0/stream", 4, "plan JSON: once[0].stream: 4 is not in 0..3"},
        Damage{"/steps/0/event", 2, "plan JSON: steps[0].event: 2 is not in 0..1"},
        Damage{"/steps/0/step", "jump", "plan JSON: steps[0]: unknown step 'jump'"},
        Damage{"/steps/2/loops/0/trips", 4, "plan JSON: steps[2].loops[0].trips: 4 is not in 3..3"},
        Damage{"/steps/2/loops/0/class_of", json::array({0, 1}),
               "plan JSON: steps[2].loops[0].class_of: expected one class for each trip"},
        Damage{"/steps/2/loops/0/class_of/1", 2,
               "plan JSON: steps[2].loops[0].class_of[1]: 2 is not in 0..1"}));

TEST(PlanJson, Garbage) {
  EXPECT_NE(failure(""), "accepted");
  EXPECT_NE(failure("{\"alignment\": 1e999}"), "accepted");
  EXPECT_EQ(failure("[]"), "plan JSON: expected an object");
  EXPECT_EQ(failure("{}"), "plan JSON: 'alignment' is missing");
}

// Nesting deeper than any plan has is refused, not followed.
TEST(PlanJson, DeepLoops) {
  Program program;
  program.loops = {1};
  std::vector<Step> body;
  for (int i = 0; i < 17; ++i) body = {std::vector<LoopStep>{{0, 1, {body}, {0}}}};
  program.steps = body;
  EXPECT_NE(failure(program_to_json(program)).find("loops nested too deeply"), std::string::npos);
  program.steps = std::get<std::vector<LoopStep>>(body[0])[0].bodies[0];
  EXPECT_EQ(print_program(program_from_json(program_to_json(program))), print_program(program));
}

TEST(PlanJson, EveryStepIsVisited) {
  int launches = 0, copies = 0, others = 0;
  const Program program = rich_program();
  for_each_step(program.steps, [&](const Step& step) {
    launches += std::holds_alternative<Launch>(step) ? 1 : 0;
    copies += std::holds_alternative<Copy>(step) ? 1 : 0;
    others += !std::holds_alternative<Launch>(step) && !std::holds_alternative<Copy>(step) ? 1 : 0;
  });
  EXPECT_EQ(launches, 0);
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(others, 5);  // record, wait, loop, release inside, release
}

}  // namespace
}  // namespace lowwater
