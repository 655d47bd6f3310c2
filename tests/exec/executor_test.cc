// Programs written by hand: what the executor does with each kind of step, and
// what it notices when a program is wrong.
#include "exec/executor.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using ::testing::HasSubstr;

const std::string kArchive = std::string(LOWWATER_TEST_DATA) + "/archives/net-2.11.0.pt2";

// Builds programs over f32 vectors, a line per thing.
struct Builder {
  Program program;

  BufferId buffer(Space space, Bytes size, Bytes offset = 0, std::int32_t index = 0) {
    Buffer made;
    made.space = space;
    made.size = size;
    made.offset = offset;
    made.index = index;
    if (space == Space::arena) program.arena_bytes = std::max(program.arena_bytes, offset + size);
    if (space == Space::constant)
      program.constant_bytes = std::max(program.constant_bytes, offset + size);
    program.buffers.push_back(made);
    return static_cast<BufferId>(program.buffers.size()) - 1;
  }
  SlotId tensor(BufferId buffer, std::vector<std::int64_t> sizes, DType dtype = DType::f32) {
    Slot slot;
    slot.buffer = buffer;
    slot.meta = {dtype, sizes, contiguous_strides(sizes), 0, 0};
    return add(slot);
  }
  SlotId number(TypeKind kind) {
    Slot slot;
    slot.kind = kind;
    return add(slot);
  }
  SlotId add(Slot slot) {
    program.slots.push_back(std::move(slot));
    return static_cast<SlotId>(program.slots.size()) - 1;
  }
  Slot& slot(SlotId id) { return program.slots[static_cast<std::size_t>(id)]; }
  SlotId input(std::vector<std::int64_t> sizes) {
    Bytes size = 4;
    for (const std::int64_t one : sizes) size *= one;
    const SlotId made = tensor(
        buffer(Space::input, size, 0, static_cast<std::int32_t>(program.inputs.size())), sizes);
    program.inputs.push_back(made);
    return made;
  }
  // `op` allocates the buffers of its outputs, in order.
  Launch& launch(const std::string& op, std::vector<Arg> args, std::vector<SlotId> outputs) {
    Launch made;
    made.op = op;
    made.node = static_cast<NodeId>(program.steps.size());
    made.args = std::move(args);
    made.outputs = outputs;
    for (const SlotId output : outputs) {
      if (output == kNone || slot(output).kind != TypeKind::tensor) continue;
      const Bytes size = program.buffers[static_cast<std::size_t>(slot(output).buffer)].size;
      made.script.push_back({true, slot(output).buffer, size});
    }
    program.steps.emplace_back(std::move(made));
    return std::get<Launch>(program.steps.back());
  }
  void release(SlotId id) { program.steps.emplace_back(Release{slot(id).buffer}); }
};

Arg ref(SlotId slot) { return Ref{slot}; }

// y = relu(x); z = y + x, y in the arena, z for the caller.
struct Residual : Builder {
  SlotId x = input({4}), y = tensor(buffer(Space::arena, 16), {4}),
         z = tensor(buffer(Space::output, 16), {4});
  Residual() {
    launch("aten::relu", {ref(x)}, {y});
    launch("aten::add.Tensor", {ref(y), ref(x), std::int64_t{1}}, {z});
    release(y);
    program.outputs = {z};
  }
};

class ExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override { install_cpu_allocator(); }
  void TearDown() override { fail_nth_allocation(-1); }

  static Executor make(const Program& program, const ExecutorOptions& options = {}) {
    static const Archive archive = Archive::open(kArchive);
    static const DeviceWeights weights(archive, c10::kCPU, {}, {});
    return Executor(program, weights, options);
  }
  const c10::InferenceMode inference_;
  const at::Tensor x_ = at::tensor({-1.f, 2.f, -3.f, 4.f});
  const at::Tensor residual_ = at::tensor({-1.f, 4.f, -3.f, 8.f});
};

// The kind and text of the Error that `call` throws.
template <typename Call>
std::pair<std::optional<ErrorKind>, std::string> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {std::nullopt, "no error"};
}

TEST_F(ExecutorTest, RunsAndCountsWhatTheAllocatorGranted) {
  Executor executor = make(Residual().program);
  for (int i = 0; i < 3; ++i) {
    ExecStats stats;
    const std::vector<at::Tensor> outputs = executor.run({x_}, &stats);
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_TRUE(at::equal(outputs[0], residual_));
    EXPECT_EQ(stats.arena_high_water, 64);
    EXPECT_EQ(stats.output_bytes, 16);
    EXPECT_EQ(stats.strays, 0);
  }
}

TEST_F(ExecutorTest, HighWaterIsWhatWasUsedNotTheSlabsSize) {
  Residual built;
  built.program.arena_bytes = 4096;
  ExecStats stats;
  make(built.program).run({x_}, &stats);
  EXPECT_EQ(stats.arena_high_water, 64);
}

TEST_F(ExecutorTest, OutputsBelongToTheCaller) {
  Executor executor = make(Residual().program);
  const at::Tensor first = executor.run({x_})[0];
  executor.run({x_ * 2});
  EXPECT_TRUE(at::equal(first, residual_));
}

TEST_F(ExecutorTest, OutputMayTakeItsOperandsAddress) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId y = b.tensor(b.buffer(Space::arena, 16), {4});
  const SlotId z = b.tensor(b.buffer(Space::arena, 16), {4});
  const SlotId out = b.tensor(b.buffer(Space::output, 16), {4});
  b.program.buffers[static_cast<std::size_t>(b.slot(z).buffer)].shares = b.slot(y).buffer;
  b.launch("aten::neg", {ref(x)}, {y});
  b.launch("aten::relu", {ref(y)}, {z});
  b.release(y);
  b.launch("aten::neg", {ref(z)}, {out});
  b.release(z);
  b.program.outputs = {out};
  for (const bool poison : {false, true}) {
    ExecStats stats;
    const auto outputs = make(b.program, {.poison = poison}).run({x_}, &stats);
    EXPECT_TRUE(at::equal(outputs[0], at::tensor({-1.f, 0.f, -3.f, 0.f})));
    EXPECT_EQ(stats.arena_high_water, 64);
  }
}

TEST_F(ExecutorTest, InputsWithOtherStridesAreCopied) {
  Builder b;
  const SlotId x = b.input({2, 2});
  const SlotId y = b.tensor(b.buffer(Space::output, 16), {2, 2});
  b.launch("aten::relu", {ref(x)}, {y});
  b.program.outputs = {y};
  const at::Tensor x22 = x_.view({2, 2});
  EXPECT_TRUE(at::equal(make(b.program).run({x22.t()})[0], at::relu(x22.t())));
}

TEST_F(ExecutorTest, WrongInputsAreNamed) {
  Executor executor = make(Residual().program);
  EXPECT_EQ(error_of([&] { executor.run({}); }).first, ErrorKind::bad_input);
  EXPECT_EQ(error_of([&] { executor.run({at::Tensor()}); }).first, ErrorKind::bad_input);
  const auto [kind, text] = error_of([&] { executor.run({at::zeros({5})}); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_EQ(text, "input 0: expected f32[4], got f32[5]");
  EXPECT_TRUE(at::equal(executor.run({x_})[0], residual_));
}

TEST_F(ExecutorTest, StraysAreCountedInTheReserveAndRefusedAboveIt) {
  Residual built;
  std::get<Launch>(built.program.steps[0]).script[0].size = 12;  // relu will ask for 16
  ExecutorOptions options{.where = [](NodeId) { return "net.py:7 in forward"; }};
  const auto [kind, text] = error_of([&] { make(built.program, options).run({x_}); });
  EXPECT_EQ(kind, ErrorKind::machine);
  EXPECT_THAT(text, HasSubstr("net.py:7 in forward: out of memory in aten::relu"));
}

TEST_F(ExecutorTest, ResultsThatDoNotLandAsPlannedAreRefused) {
  Residual built;
  built.slot(built.y).meta.sizes = {2, 2};
  built.slot(built.y).meta.strides = {2, 1};
  ExecutorOptions options{.where = [](NodeId) { return "net.py:7 in forward"; }};
  const auto [kind, text] = error_of([&] { make(built.program, options).run({x_}); });
  EXPECT_EQ(kind, ErrorKind::internal);
  EXPECT_EQ(text, "net.py:7 in forward: aten::relu gave f32[4], planned was f32[2,2]");
}

TEST_F(ExecutorTest, EveryFailingAllocationLeavesNothingBehind) {
  Executor executor = make(Residual().program);
  for (std::int64_t k = 0; k < 2; ++k) {
    fail_nth_allocation(k);
    const auto [kind, text] = error_of([&] { executor.run({x_}); });
    EXPECT_EQ(kind, ErrorKind::machine) << k;
    EXPECT_THAT(text,
                HasSubstr(k == 0 ? "out of memory in aten::relu, which allocates 16 B"
                                 : "out of memory in aten::add.Tensor, which allocates 16 B"));
    ExecStats stats;
    EXPECT_TRUE(at::equal(executor.run({x_}, &stats)[0], residual_));
    EXPECT_EQ(stats.arena_high_water, 64);
  }
}

TEST_F(ExecutorTest, ForgottenReleaseIsNoticed) {
  Residual built;
  built.program.steps.pop_back();
  EXPECT_TRUE(at::equal(make(built.program).run({x_})[0],
                        residual_));  // the run's end lets go of everything
}

TEST_F(ExecutorTest, PoisonShowsAReadOfBytesThatNobodyWrote) {
  Residual built;
  auto& add = std::get<Launch>(built.program.steps[1]);
  add.args[0] = ref(built.tensor(built.buffer(Space::arena, 16, 128), {4}));
  const at::Tensor result = make(built.program, {.poison = true}).run({x_})[0];
  EXPECT_TRUE(result.isnan().all().item<bool>());
}

TEST_F(ExecutorTest, PoisonFindsAWriteBesideItsBuffer) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId y = b.tensor(b.buffer(Space::arena, 16), {4});
  const SlotId stranger = b.tensor(b.buffer(Space::arena, 16, 64), {4});
  const SlotId z = b.tensor(b.buffer(Space::output, 16), {4});
  b.launch("aten::relu", {ref(x)}, {y});
  b.launch("aten::fill_.Scalar", {ref(stranger), 1.0}, {kNone});
  b.launch("aten::neg", {ref(y)}, {z});
  b.release(y);
  b.program.outputs = {z};
  EXPECT_EQ(make(b.program).run({x_}).size(), 1u);
  const auto [kind, text] = error_of([&] { make(b.program, {.poison = true}).run({x_}); });
  EXPECT_EQ(kind, ErrorKind::internal);
  EXPECT_THAT(text, HasSubstr("aten::fill_.Scalar: bytes 16 to 80 of the arena were written"));
}

TEST_F(ExecutorTest, ConstantsAreMadeOnceAndStay) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId t = b.tensor(b.buffer(Space::arena, 16), {4});
  const SlotId c = b.tensor(b.buffer(Space::constant, 16), {4});
  const SlotId z = b.tensor(b.buffer(Space::output, 16), {4});
  b.launch("aten::full",
           {std::vector<std::int64_t>{4}, 3.0, DType::f32, std::monostate{}, DeviceArg::plan_device,
            false},
           {t});
  b.launch("aten::neg", {ref(t)}, {c});
  b.release(t);
  b.program.once = std::exchange(b.program.steps, {});
  b.launch("aten::add.Tensor", {ref(x), ref(c), std::int64_t{1}}, {z});
  b.program.outputs = {z, c};
  Executor executor = make(b.program, {.poison = true});
  for (int i = 0; i < 2; ++i) {
    ExecStats stats;
    const auto outputs = executor.run({x_}, &stats);
    EXPECT_TRUE(at::equal(outputs[0], x_ - 3));
    EXPECT_EQ(stats.arena_high_water, 0);
    EXPECT_TRUE(at::equal(outputs[1], at::tensor({-3.f, -3.f, -3.f, -3.f})));
    outputs[1].fill_(7);  // the caller's own copy
  }
}

TEST_F(ExecutorTest, CopiesGetTheirBlockFromTheAllocator) {
  Builder b;
  const SlotId host = b.tensor(b.buffer(Space::host, 16), {4});
  b.program.inputs = {host};
  const SlotId x = b.tensor(b.buffer(Space::arena, 16, 64), {4});
  const SlotId y = b.tensor(b.buffer(Space::arena, 16), {4});
  const SlotId out = b.tensor(b.buffer(Space::host, 16), {4});
  b.program.steps.emplace_back(Copy{host, x, 1});
  b.launch("aten::relu", {ref(x)}, {y});
  b.release(x);
  b.program.steps.emplace_back(Copy{y, out, 2});
  b.release(y);
  b.program.outputs = {out};
  ExecStats stats;
  Executor executor = make(b.program, {.poison = true});
  EXPECT_TRUE(at::equal(executor.run({x_}, &stats)[0], at::relu(x_)));
  EXPECT_EQ(stats.arena_high_water, 128);
  for (std::int64_t k = 0; k < 2; ++k) {
    fail_nth_allocation(k);
    EXPECT_EQ(error_of([&] { executor.run({x_}); }).first, ErrorKind::machine) << k;
    EXPECT_TRUE(at::equal(executor.run({x_})[0], at::relu(x_)));
  }
}

TEST_F(ExecutorTest, LoopsMoveTheirSlots) {
  // out[i] = relu(x[i]), a row at a time through one tile buffer.
  Builder b;
  const SlotId x = b.input({3, 4});
  const BufferId in = b.slot(x).buffer;
  const BufferId whole = b.buffer(Space::output, 48);
  const SlotId row_in = b.tensor(in, {4}), row_out = b.tensor(whole, {4}),
               out = b.tensor(whole, {3, 4});
  b.slot(row_in).loop_strides = {{0, 16}};
  b.slot(row_out).loop_strides = {{0, 16}};
  const SlotId tile = b.tensor(b.buffer(Space::arena, 16), {4});
  b.launch("aten::relu", {ref(row_in)}, {tile});
  b.program.steps.emplace_back(Copy{tile, row_out, 0});
  b.release(tile);
  b.program.loops = {3};
  std::vector<LoopStep> loop(1);
  loop[0] = {0, 3, {std::exchange(b.program.steps, {})}, {0, 0, 0}};
  b.program.steps.emplace_back(std::move(loop));
  b.program.outputs = {out};
  const at::Tensor rows = at::randn({3, 4});
  ExecStats stats;
  EXPECT_TRUE(at::equal(make(b.program, {.poison = true}).run({rows}, &stats)[0], at::relu(rows)));
  EXPECT_EQ(stats.arena_high_water, 64);
}

TEST_F(ExecutorTest, GuardsSkipAndSelectChooses) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId sum = b.tensor(b.buffer(Space::arena, 4, 64), {});
  const SlotId total = b.number(TypeKind::real), positive = b.number(TypeKind::boolean);
  const SlotId a = b.tensor(b.buffer(Space::arena, 16), {4});
  const SlotId c = b.tensor(b.buffer(Space::arena, 16, 128), {4});
  const SlotId z = b.tensor(b.buffer(Space::output, 16), {4});
  b.launch("aten::sum", {ref(x), std::monostate{}}, {sum});
  b.launch("aten::item", {ref(sum)}, {total});
  b.launch("sym::gt", {ref(total), 0.0}, {positive});
  b.release(sum);
  Launch& yes = b.launch("aten::relu", {ref(x)}, {a});
  yes.guard = positive;
  Launch& no = b.launch("aten::neg", {ref(x)}, {c});
  no.guard = positive;
  no.guard_when = false;
  b.launch("lowwater::select", {ref(positive), ref(a), ref(c)}, {z});
  b.release(a);
  b.release(c);
  b.program.outputs = {z, total};
  Executor executor = make(b.program, {.poison = true});
  EXPECT_TRUE(at::equal(executor.run({x_})[0], at::relu(x_)));
  EXPECT_TRUE(at::equal(executor.run({-x_})[0], x_));
  EXPECT_FALSE(executor.run({x_})[1].defined());
}

TEST_F(ExecutorTest, SizesKnownOnlyAtRunTime) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId where = b.tensor(b.buffer(Space::arena, 32), {4, 1}, DType::i64);
  const SlotId out = b.tensor(b.buffer(Space::output, 32), {4, 1}, DType::i64);
  b.slot(where).dynamic = b.slot(out).dynamic = true;
  b.launch("aten::nonzero", {ref(x)}, {where});
  b.launch("aten::neg", {ref(where)}, {out});
  b.release(where);
  b.program.outputs = {out};
  Executor executor = make(b.program, {.poison = true, .stray_limit = 4096});
  for (const at::Tensor& given : {at::tensor({0.f, 1.f, 0.f, 2.f}), at::zeros({4}), x_}) {
    EXPECT_TRUE(at::equal(executor.run({given})[0], -at::nonzero(given)));
  }
}

TEST_F(ExecutorTest, FixedIoGivesCopiesOrViews) {
  const Program program = Residual().program;
  Executor copies = make(program, {.fixed_io = true});
  const at::Tensor first = copies.run({x_})[0];
  copies.run({x_ * 2});
  EXPECT_TRUE(at::equal(first, residual_));

  Executor views = make(program, {.fixed_io = true, .borrow_outputs = true});
  const at::Tensor view = views.run({x_})[0];
  EXPECT_TRUE(at::equal(view, residual_));
  ExecStats stats;
  const at::Tensor again = views.run({x_ * 2}, &stats)[0];
  EXPECT_EQ(view.const_data_ptr(), again.const_data_ptr());
  EXPECT_EQ(stats.output_bytes, 16);
}

TEST_F(ExecutorTest, OutputsThatAliasShareAStorage) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId y = b.tensor(b.buffer(Space::output, 16), {4});
  const SlotId view = b.tensor(b.slot(y).buffer, {2, 2});
  b.launch("aten::relu", {ref(x)}, {y});
  b.program.outputs = {y, view, x};
  for (const bool fixed : {false, true}) {
    const auto outputs = make(b.program, {.fixed_io = fixed}).run({x_});
    EXPECT_EQ(outputs[0].const_data_ptr(), outputs[1].const_data_ptr());
    EXPECT_EQ(outputs[1].sizes(), c10::IntArrayRef({2, 2}));
    EXPECT_EQ(outputs[2].const_data_ptr() == x_.const_data_ptr(), !fixed);
  }
}

TEST_F(ExecutorTest, RandomOperatorsRepeatAndLeaveTheGeneratorAlone) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId y = b.tensor(b.buffer(Space::output, 16), {4});
  b.launch("aten::rand_like",
           {ref(x), std::monostate{}, std::monostate{}, std::monostate{}, std::monostate{},
            std::monostate{}},
           {y});
  b.program.outputs = {y};
  Executor executor = make(b.program, {.seed = 5});
  const at::Tensor first = executor.run({x_})[0];
  at::manual_seed(1);
  const at::Tensor expected = at::rand({3});
  at::manual_seed(1);
  EXPECT_TRUE(at::equal(executor.run({x_})[0], first));
  EXPECT_TRUE(at::equal(at::rand({3}), expected));
  EXPECT_FALSE(at::equal(make(b.program, {.seed = 6}).run({x_})[0], first));
}

TEST_F(ExecutorTest, DataThatAnOperatorRefusesIsBadInput) {
  Builder b;
  const SlotId x = b.input({4});
  const SlotId index = b.tensor(b.buffer(Space::input, 8, 0, 1), {1}, DType::i64);
  b.program.inputs.push_back(index);
  const SlotId y = b.tensor(b.buffer(Space::output, 4), {1});
  b.launch("aten::index_select", {ref(x), std::int64_t{0}, ref(index)}, {y});
  b.program.outputs = {y};
  Executor executor = make(b.program);
  const auto [kind, text] = error_of([&] { executor.run({x_, at::tensor({std::int64_t{9}})}); });
  EXPECT_THAT(text, HasSubstr("aten::index_select"));
  EXPECT_TRUE(at::equal(executor.run({x_, at::tensor({std::int64_t{1}})})[0], at::tensor({2.f})));
}

TEST_F(ExecutorTest, GraphsAreRefusedWhereTheHostDecides) {
  Builder b;
  const SlotId x = b.input({1});
  const SlotId number = b.number(TypeKind::real);
  b.launch("aten::item", {ref(x)}, {number});
  const auto [kind, text] = error_of([&] { make(b.program, {.cuda_graph = true}); });
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_THAT(text, HasSubstr("aten::item gives a number to the host"));
}

}  // namespace
}  // namespace lowwater
