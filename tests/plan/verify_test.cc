// Small programs by hand, each sound; then one mistake at a time, and the
// violation that it must give.
#include "plan/verify.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "graph/text.h"

namespace lowwater {
namespace {

using Kind = Violation::Kind;
using Ints = std::vector<std::int64_t>;

TensorMeta meta(Ints sizes, std::int64_t offset = 0) {
  return {DType::f32, sizes, contiguous_strides(sizes), offset, 0};
}

Slot slot(BufferId buffer, ValueId value, TensorMeta where) {
  return {TypeKind::tensor, buffer, std::move(where), {}, false, value};
}

Launch launch(NodeId node, std::string op, std::vector<Arg> args, std::vector<SlotId> outputs,
              std::vector<ScriptEvent> script) {
  Launch made;
  made.node = node;
  made.op = std::move(op);
  made.args = std::move(args);
  made.outputs = std::move(outputs);
  made.script = std::move(script);
  return made;
}

// A buffer is called after the first value in it.
void name_buffers(Program& program) {
  for (const Slot& slot : program.slots) {
    if (slot.buffer == kNone) continue;
    Buffer& buffer = program.buffers[static_cast<std::size_t>(slot.buffer)];
    if (buffer.value == kNone) buffer.value = slot.value;
  }
}

struct Case {
  Graph graph;
  Program program;

  std::vector<Violation> violations() const { return verify_program(graph, program); }
};

//   mul x, w -> a (buffer 2)    relu a -> b (takes the address of a)
//   mm c, c -> d with a workspace, where c is a view of b
Case chain() {
  Case made;
  made.graph = parse_graph(R"(
    graph(%x: f32[16], %w: weight 0 f32[16]):
      %a: f32[16] = aten::mul.Tensor(%x, %w)
      %b: f32[16] = aten::relu(%a)
      %c: f32[4,4] = aten::view(%b, [4,4])
      %d: f32[4,4] = aten::mm(%c, %c)
      return (%d)
  )");
  Program& p = made.program;
  p.buffers = {{Space::input, BufferKind::input, 64, 0, 0},
               {Space::weight, BufferKind::weight, 64, 0, 0},
               {Space::arena, BufferKind::value, 64, 0},
               {Space::arena, BufferKind::value, 64, 0},
               {Space::output, BufferKind::output, 64, 0, 0},
               {Space::arena, BufferKind::temporary, 100, 64}};
  p.buffers[3].shares = 2;
  // Values: x 0, w 1, a 2, b 3, c 4, d 5.
  p.slots = {slot(0, 0, meta({16})), slot(1, 1, meta({16})),   slot(2, 2, meta({16})),
             slot(3, 3, meta({16})), slot(3, 4, meta({4, 4})), slot(4, 5, meta({4, 4}))};
  name_buffers(p);
  p.inputs = {0};
  p.outputs = {5};
  p.steps = {
      launch(0, "aten::mul.Tensor", {Ref{0}, Ref{1}}, {2}, {{true, 2, 64}}),
      launch(1, "aten::relu", {Ref{2}}, {3}, {{true, 3, 64}}),
      launch(3, "aten::mm", {Ref{4}, Ref{4}}, {5}, {{true, 5, 100}, {true, 4, 64}, {false, 5, 0}}),
      Release{3}};
  p.arena_bytes = 192;
  return made;
}

//   h2d: copy x -> u     compute: relu u -> a, neg a -> b     d2h: copy a, copy b
//   compute: neg b -> c, at the place of a
Case streams() {
  Case made;
  made.graph = parse_graph(R"(
    graph(%x: f32[16]):
      %a: f32[16] = aten::relu(%x)
      %b: f32[16] = aten::neg(%a)
      %c: f32[16] = aten::neg(%b)
      return (%a, %b)
  )");
  Program& p = made.program;
  p.buffers = {
      {Space::host, BufferKind::input, 64},      {Space::arena, BufferKind::value, 64, 0},
      {Space::arena, BufferKind::value, 64, 64}, {Space::arena, BufferKind::value, 64, 128},
      {Space::host, BufferKind::output, 64},     {Space::host, BufferKind::output, 64},
      {Space::arena, BufferKind::value, 64, 64}};
  p.slots = {slot(0, 0, meta({16})), slot(1, 0, meta({16})), slot(2, 1, meta({16})),
             slot(3, 2, meta({16})), slot(4, 1, meta({16})), slot(5, 2, meta({16})),
             slot(6, 3, meta({16}))};
  name_buffers(p);
  p.inputs = {0};
  p.outputs = {4, 5};
  p.events = 3;
  p.steps = {Copy{0, 1, 1},     RecordEvent{0, 1},
             WaitEvent{0, 0},   launch(0, "aten::relu", {Ref{1}}, {2}, {{true, 2, 64}}),
             Release{1},        launch(1, "aten::neg", {Ref{2}}, {3}, {{true, 3, 64}}),
             RecordEvent{1, 0}, WaitEvent{1, 2},
             Copy{2, 4, 2},     Copy{3, 5, 2},
             RecordEvent{2, 2}, WaitEvent{2, 0},
             Release{2},        launch(2, "aten::neg", {Ref{3}}, {6}, {{true, 6, 64}}),
             Release{3},        Release{6}};
  p.arena_bytes = 192;
  return made;
}

// relu in four tiles of four elements, written into one buffer.
Case tiles() {
  Case made;
  made.graph = parse_graph(R"(
    graph(%x: f32[16]):
      %a: f32[16] = aten::relu(%x)
      %b: f32[16] = aten::neg(%a)
      return (%b)
  )");
  Program& p = made.program;
  p.buffers = {{Space::host, BufferKind::input, 64},
               {Space::arena, BufferKind::value, 64, 0},   // a, whole
               {Space::arena, BufferKind::value, 16, 64},  // x, one tile
               {Space::output, BufferKind::output, 64}};
  p.slots = {slot(0, 0, meta({16})), slot(1, 1, meta({4})),  slot(2, 0, meta({4})),
             slot(1, 1, meta({16})), slot(3, 2, meta({16})), slot(0, 0, meta({4}))};
  name_buffers(p);
  p.slots[1].loop_strides = {{0, 16}};
  p.slots[5].loop_strides = {{0, 16}};
  p.inputs = {0};
  p.outputs = {4};
  p.loops = {4};
  LoopStep loop;
  loop.trips = 4;
  loop.class_of = {0, 1, 1, 1};
  // The first tile's step allocates the whole buffer; the others find it there.
  for (int first = 1; first >= 0; --first) {
    std::vector<ScriptEvent> script;
    if (first == 1) script.push_back({true, 1, 64});
    loop.bodies.push_back({Copy{5, 2}, launch(0, "aten::relu", {Ref{2}}, {1}, script), Release{2}});
  }
  p.steps = {std::vector<LoopStep>{loop}, launch(1, "aten::neg", {Ref{3}}, {4}, {{true, 3, 64}}),
             Release{1}};
  p.arena_bytes = 128;
  return made;
}

std::string list(const std::vector<Violation>& violations) {
  std::string out;
  for (const Violation& violation : violations) {
    out += std::to_string(static_cast<int>(violation.kind)) + " " + violation.what + "\n";
  }
  return out;
}

// The mistake is found, and its first consequence is of this kind and says so.
void expect(Case made, const std::function<void(Program&)>& change, Kind kind,
            const std::string& words) {
  change(made.program);
  const std::vector<Violation> violations = made.violations();
  ASSERT_FALSE(violations.empty()) << "not found: " << words;
  EXPECT_EQ(violations[0].kind, kind) << list(violations);
  EXPECT_NE(violations[0].what.find(words), std::string::npos) << list(violations);
}

template <typename T>
T& step(Program& program, std::size_t index) {
  return std::get<T>(program.steps[index]);
}

TEST(Verify, SoundPrograms) {
  EXPECT_EQ(list(chain().violations()), "");
  EXPECT_EQ(list(streams().violations()), "");
  EXPECT_EQ(list(tiles().violations()), "");
}

// --- overlap --------------------------------------------------------------------

TEST(VerifyOverlap, AWorkspaceOnALivingValue) {
  expect(
      chain(), [](Program& p) { p.buffers[5].offset = 0; }, Kind::overlap,
      "buffer 5 [0, 100) is placed on %b in buffer 3 [0, 64), which is still needed");
}

TEST(VerifyOverlap, SharingThatTheOperatorDoesNotAllow) {
  // mm reads elements again after it wrote others.
  expect(
      chain(),
      [](Program& p) {
        p.buffers[4].space = Space::arena;
        p.buffers[4].shares = 3;
        p.steps.pop_back();
      },
      Kind::overlap, "the operator does not allow it");
}

TEST(VerifyOverlap, SharingWithoutSayingSo) {
  expect(
      chain(), [](Program& p) { p.buffers[3].shares = kNone; }, Kind::overlap,
      "is placed on %a in buffer 2 [0, 64), which is still needed");
}

TEST(VerifyOverlap, SharingAnotherLayout) {
  expect(
      chain(),
      [](Program& p) {
        p.slots[3].meta.strides = {2};
        p.buffers[3].size = 128;
        p.buffers[2].size = 128;
        p.buffers[5].offset = 128;
        p.arena_bytes = 256;
      },
      Kind::overlap, "the layouts differ");
}

TEST(VerifyOverlap, SharingAnAddressThatDiffers) {
  expect(
      chain(),
      [](Program& p) {
        p.buffers[3].offset = 64;
        p.buffers[5].offset = 128;
        p.arena_bytes = 256;
      },
      Kind::overlap, "address or size differ");
}

TEST(VerifyOverlap, SharingTheCallersInput) {
  expect(
      chain(), [](Program& p) { p.buffers[2].shares = 0; }, Kind::overlap,
      "both must be in the arena");
}

TEST(VerifyOverlap, TwoConstants) {
  Case made = chain();
  made.graph = parse_graph("graph(): return ()");
  made.program = {};
  made.program.buffers = {{Space::constant, BufferKind::value, 64, 0},
                          {Space::constant, BufferKind::value, 64, 64}};
  made.program.constant_bytes = 128;
  EXPECT_EQ(list(made.violations()), "");
  expect(
      made, [](Program& p) { p.buffers[1].offset = 0; }, Kind::overlap, "the constant");
}

TEST(VerifyOverlap, TwoTilesWriteTheSameBytes) {
  expect(
      tiles(), [](Program& p) { p.slots[1].loop_strides[0].stride = 12; }, Kind::overlap,
      "that hold another result");
}

// --- early release ----------------------------------------------------------------

TEST(VerifyEarlyRelease, ReleasedBeforeItsLastReader) {
  expect(
      chain(), [](Program& p) { std::swap(p.steps[2], p.steps[3]); }, Kind::early_release,
      "uses %b in buffer 3 [0, 64) after it was released");
}

TEST(VerifyEarlyRelease, ReadAfterItsAddressWasTaken) {
  Case made = chain();
  made.graph = parse_graph(R"(
    graph(%x: f32[16], %w: weight 0 f32[16]):
      %a: f32[16] = aten::mul.Tensor(%x, %w)
      %b: f32[16] = aten::relu(%a)
      %c: f32[4,4] = aten::view(%b, [4,4])
      %d: f32[16] = aten::add.Tensor(%a, %b)
      return (%d)
  )");
  expect(
      made,
      [](Program& p) {
        p.slots[5] = slot(4, 5, meta({16}));
        p.steps[2] = launch(3, "aten::add.Tensor", {Ref{2}, Ref{3}}, {5}, {{true, 4, 64}});
      },
      Kind::early_release,
      "uses %a in buffer 2 [0, 64) after %b in buffer 3 [0, 64) took its address");
}

TEST(VerifyEarlyRelease, AWeightThatWasOverwritten) {
  Case made;
  made.graph = parse_graph(R"(
    graph(%x: f32[16], %w: weight 0 f32[16]):
      %y: f32[16] = aten::mul.Tensor(%x, %w)
      return (%y, weight 0 = %x)
  )");
  Program& p = made.program;
  p.buffers = {{Space::input, BufferKind::input, 64},
               {Space::weight, BufferKind::weight, 64},
               {Space::output, BufferKind::output, 64}};
  p.slots = {slot(0, 0, meta({16})), slot(1, 1, meta({16})), slot(2, 2, meta({16}))};
  p.inputs = {0};
  p.outputs = {2, kNone};
  p.steps = {launch(0, "aten::mul.Tensor", {Ref{0}, Ref{1}}, {2}, {{true, 2, 64}}), Copy{0, 1}};
  EXPECT_EQ(list(made.violations()), "");
  expect(
      made, [](Program& q) { std::swap(q.steps[0], q.steps[1]); }, Kind::early_release,
      "reads %w after it was overwritten");
  expect(
      made, [](Program& q) { q.steps.pop_back(); }, Kind::wrong_value,
      "output 1: %x is never copied to weight 0");
}

// --- unwritten ----------------------------------------------------------------------

TEST(VerifyUnwritten, ReadBeforeItsStep) {
  expect(
      chain(),
      [](Program& p) {
        std::swap(p.steps[0], p.steps[1]);
        p.buffers[3].shares = kNone;
      },
      Kind::unwritten, "uses %a in buffer 2 [0, 64) before anything was put there");
}

TEST(VerifyUnwritten, AllocatedButNotWritten) {
  expect(
      chain(), [](Program& p) { step<Launch>(p, 0).outputs = {kNone}; }, Kind::unwritten,
      "which nobody wrote");
}

TEST(VerifyUnwritten, ANumberBeforeItIsKnown) {
  Case made;
  made.graph = parse_graph(R"(
    graph(%x: f32[1]):
      %n: int = aten::item(%x)
      %y: f32[4] = aten::full(mixed[%n=4], 1.0)
      return (%y)
  )");
  Program& p = made.program;
  p.buffers = {{Space::input, BufferKind::input, 4}, {Space::output, BufferKind::output, 16}};
  p.slots = {
      slot(0, 0, meta({1})), {TypeKind::integer, kNone, {}, {}, false, 1}, slot(1, 2, meta({4}))};
  p.inputs = {0};
  p.outputs = {2};
  p.steps = {launch(0, "aten::item", {Ref{0}}, {1}, {}),
             launch(1, "aten::full", {MixedInts{{4}, {Ref{1}}}, 1.0}, {2}, {{true, 1, 16}})};
  EXPECT_EQ(list(made.violations()), "");
  expect(
      made, [](Program& q) { std::swap(q.steps[0], q.steps[1]); }, Kind::unwritten,
      "reads the number %n before it is known");
}

TEST(VerifyUnwritten, OnceMayNotReadTheInput) {
  expect(
      chain(),
      [](Program& p) {
        p.once = {p.steps[0]};
        p.steps.erase(p.steps.begin());
        p.buffers[2].space = Space::constant;
        p.constant_bytes = 64;
        p.buffers[3].shares = kNone;
      },
      Kind::unwritten, "uses %x in buffer 0 [0, 64) before anything was put there");
}

// --- missing event ------------------------------------------------------------------

TEST(VerifyMissingEvent, EveryWaitIsNeeded) {
  const auto without = [](std::ptrdiff_t wait) {
    return [wait](Program& p) { p.steps.erase(p.steps.begin() + wait); };
  };
  expect(
      streams(), without(2), Kind::missing_event,
      "touches %x in buffer 1 [0, 64) on stream compute while stream h2d may still use its bytes");
  expect(streams(), without(7), Kind::missing_event,
         "touches %a in buffer 2 [64, 128) on stream d2h while stream compute may still use its "
         "bytes");
  // The download still reads the bytes that %c is put on.
  expect(streams(), without(11), Kind::missing_event,
         "touches %c in buffer 6 [64, 128) on stream compute while stream d2h may still use its "
         "bytes");
}

TEST(VerifyMissingEvent, AnEventThatNobodyRecords) {
  expect(
      streams(), [](Program& p) { p.steps.erase(p.steps.begin() + 1); }, Kind::missing_event,
      "stream compute waits for event 0, which nobody recorded");
}

TEST(VerifyMissingEvent, RecordedTooEarly) {
  expect(
      streams(), [](Program& p) { std::swap(p.steps[0], p.steps[1]); }, Kind::missing_event,
      "on stream compute while stream h2d may still use its bytes");
}

TEST(VerifyMissingEvent, UnknownStreamsAndEvents) {
  expect(
      streams(), [](Program& p) { step<Copy>(p, 0).stream = 3; }, Kind::missing_event,
      "unknown stream 3");
  expect(
      streams(), [](Program& p) { step<WaitEvent>(p, 2).event = 7; }, Kind::missing_event,
      "unknown event 7");
}

// --- missing region -----------------------------------------------------------------

TEST(VerifyMissingRegion, ATileIsLeftOut) {
  expect(
      tiles(),
      [](Program& p) {
        p.loops = {3};
        LoopStep& loop = step<std::vector<LoopStep>>(p, 0)[0];
        loop.trips = 3;
        loop.class_of.pop_back();
      },
      Kind::missing_region,
      "reads 64 of %a in buffer 1 [0, 64), of which only 48 bytes were written");
}

TEST(VerifyMissingRegion, TilesDoNotTouchEachOther) {
  expect(
      tiles(),
      [](Program& p) {
        p.slots[1].meta = meta({3});
        p.slots[2].meta = meta({3});
        p.slots[5].meta = meta({3});
      },
      Kind::missing_region, "of which only 48 bytes were written");
}

TEST(VerifyMissingRegion, LoopsWhoseIterationsAreUnknown) {
  expect(
      tiles(), [](Program& p) { step<std::vector<LoopStep>>(p, 0)[0].class_of[2] = 5; },
      Kind::missing_region, "has no body");
  expect(
      tiles(), [](Program& p) { step<std::vector<LoopStep>>(p, 0)[0].trips = 5; },
      Kind::missing_region, "does not say what each iteration runs");
}

// --- addresses ----------------------------------------------------------------------

TEST(VerifyBadAddress, OutsideOrUnaligned) {
  expect(
      chain(), [](Program& p) { p.buffers[5].offset = 128; }, Kind::bad_address,
      "outside its space of 192");
  expect(
      chain(), [](Program& p) { p.buffers[2].offset = -64; }, Kind::bad_address,
      "outside its space");
  expect(
      chain(), [](Program& p) { p.buffers[5].offset = 72; }, Kind::bad_address,
      "not aligned to 64");
  expect(
      chain(), [](Program& p) { p.alignment = 48; }, Kind::bad_address, "not a power of two");
}

TEST(VerifyBadAddress, SlotsLargerThanTheirBuffer) {
  expect(
      chain(), [](Program& p) { p.slots[4].meta.storage_offset = 1; }, Kind::bad_address,
      "slot 4 of %c needs bytes [4, 68) of a buffer of 64");
  expect(
      chain(),
      [](Program& p) {
        p.slots[4].meta.strides = {8, 1};
      },
      Kind::bad_address, "slot 4");
  expect(
      tiles(), [](Program& p) { p.slots[1].loop_strides[0].stride = 20; }, Kind::bad_address,
      "touches bytes [60, 76)");
}

TEST(VerifyBadAddress, NumbersOutOfRange) {
  expect(
      chain(), [](Program& p) { p.outputs[0] = 9; }, Kind::bad_address, "unknown slot 9");
  expect(
      chain(), [](Program& p) { p.slots[2].buffer = 77; }, Kind::bad_address, "unknown buffer 77");
  expect(
      chain(), [](Program& p) { p.buffers[3].shares = 77; }, Kind::bad_address,
      "unknown buffer 77");
}

// --- scripts ------------------------------------------------------------------------

TEST(VerifyBadScript, FreesAndAllocations) {
  expect(
      chain(), [](Program& p) { p.steps.push_back(Release{3}); }, Kind::bad_script,
      "which is not live");
  expect(
      chain(), [](Program& p) { p.steps.push_back(Release{4}); }, Kind::bad_script,
      "which is not in the arena");
  expect(
      chain(),
      [](Program& p) {
        step<Launch>(p, 2).script.push_back({false, 5, 0});
      },
      Kind::bad_script, "which is not live");
  expect(
      chain(),
      [](Program& p) {
        step<Launch>(p, 2).script.push_back({false, 3, 0});
        p.steps.pop_back();
      },
      Kind::bad_script, "which it did not allocate");
  expect(
      chain(),
      [](Program& p) {
        step<Launch>(p, 0).script.push_back({true, 2, 64});
      },
      Kind::bad_script, "allocates %a in buffer 2 [0, 64) twice");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 2).script[0].size = 101; }, Kind::bad_script,
      "allocates 101 bytes");
  expect(
      chain(),
      [](Program& p) {
        step<Launch>(p, 0).script.push_back({true, 1, 64});
      },
      Kind::bad_script, "twice");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 2).script[0].buffer = 50; }, Kind::bad_script,
      "unknown buffer 50");
}

TEST(VerifyBadScript, AnOutputWithoutAllocation) {
  expect(
      chain(), [](Program& p) { step<Launch>(p, 0).script.clear(); }, Kind::bad_script,
      "puts %a into %a in buffer 2 [0, 64), which its script does not allocate");
}

// --- peak ---------------------------------------------------------------------------

TEST(VerifyWrongPeak, EverySizeIsWhatIsNeeded) {
  expect(
      chain(), [](Program& p) { p.arena_bytes = 256; }, Kind::wrong_peak,
      "arena_bytes is 256 but the buffers need 192");
  expect(
      chain(), [](Program& p) { p.once_arena_bytes = 64; }, Kind::wrong_peak,
      "once_arena_bytes is 64 but the buffers need 0");
  expect(
      chain(), [](Program& p) { p.constant_bytes = 64; }, Kind::wrong_peak,
      "constant_bytes is 64 but the buffers need 0");
}

// --- meaning ------------------------------------------------------------------------

TEST(VerifyWrongValue, CallsThatTheGraphDoesNotMake) {
  expect(
      chain(), [](Program& p) { step<Launch>(p, 1).op = "aten::neg"; }, Kind::wrong_value,
      "node 1 of the graph calls aten::relu");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 0).args[1] = Ref{0}; }, Kind::wrong_value,
      "argument 1 is not the one in the graph");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 0).node = 44; }, Kind::wrong_value,
      "belongs to no node");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 0).node = 1; }, Kind::wrong_value,
      "node 1 of the graph calls");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 2).outputs.push_back(kNone); }, Kind::wrong_value,
      "has 2 outputs where the graph has 1");
  expect(
      chain(), [](Program& p) { step<Launch>(p, 0).guard = 0; }, Kind::wrong_value,
      "under another condition");
}

TEST(VerifyWrongValue, SlotsThatStandForSomethingElse) {
  expect(
      chain(), [](Program& p) { p.slots[2].value = 3; }, Kind::wrong_value,
      "output 0 goes to a slot of %b");
  expect(
      chain(),
      [](Program& p) {
        p.slots[5].meta = meta({2, 8});
      },
      Kind::wrong_value, "other sizes or another type");
  expect(
      chain(), [](Program& p) { p.outputs[0] = 3; }, Kind::wrong_value, "output 0 is not %d");
  expect(
      chain(), [](Program& p) { p.outputs[0] = kNone; }, Kind::wrong_value, "output 0 is not %d");
  expect(
      chain(), [](Program& p) { p.inputs[0] = 1; }, Kind::wrong_value,
      "input 0 is bound to a slot of %w");
  expect(
      streams(), [](Program& p) { p.slots[1].value = 1; }, Kind::wrong_value,
      "copies %x to a slot of %a");
  expect(
      streams(),
      [](Program& p) {
        p.slots[1].meta = meta({4, 4});
      },
      Kind::wrong_value, "a slot of other sizes or type");
}

// A view must show the elements that its operator says.
TEST(VerifyWrongValue, ViewsOfOtherElements) {
  expect(
      chain(),
      [](Program& p) {
        p.slots[4].meta.strides = {1, 4};
      },
      Kind::wrong_value, "slot 4 does not see the elements of %c in %b");
  expect(
      chain(), [](Program& p) { p.slots[4].buffer = 1; }, Kind::wrong_value,
      "which does not hold it");
}

TEST(VerifyWrongValue, BarriersKeepTheirPlace) {
  Case made;
  made.graph = parse_graph(R"(
    graph(%x: f32[16]):
      %a: f32[16] = aten::neg(%x)
      my::write_(%a) barrier
      %b: f32[16] = aten::neg(%a)
      return (%b)
  )");
  Program& p = made.program;
  p.buffers = {{Space::input, BufferKind::input, 64},
               {Space::arena, BufferKind::value, 64},
               {Space::output, BufferKind::output, 64}};
  p.slots = {slot(0, 0, meta({16})), slot(1, 1, meta({16})), slot(2, 2, meta({16}))};
  p.inputs = {0};
  p.outputs = {2};
  p.steps = {launch(0, "aten::neg", {Ref{0}}, {1}, {{true, 1, 64}}),
             launch(1, "my::write_", {Ref{1}}, {}, {}),
             launch(2, "aten::neg", {Ref{1}}, {2}, {{true, 2, 64}}), Release{1}};
  p.arena_bytes = 64;
  EXPECT_EQ(list(made.violations()), "");
  expect(
      made, [](Program& q) { std::swap(q.steps[1], q.steps[2]); }, Kind::wrong_value,
      "is a barrier but runs after node 2");
  expect(
      made, [](Program& q) { q.steps.insert(q.steps.begin() + 2, q.steps[1]); }, Kind::wrong_value,
      "runs after the barrier");
  expect(
      made, [](Program& q) { q.steps.erase(q.steps.begin() + 1); }, Kind::wrong_value,
      "only 0 of 1 barriers ran");
}

}  // namespace
}  // namespace lowwater
