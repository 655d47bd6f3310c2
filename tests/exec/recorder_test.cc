// The recorder on the CPU: what a record says, when none can be had, and that a
// step replayed by its record gives the same bits without a stray.
#include "exec/recorder.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "exec/scripted_allocator.h"
#include "exec/synthetic.h"
#include "lowwater/error.h"
#include "specs.h"

namespace lowwater {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
RecorderOptions options(Bytes limit = 256 * kMiB, double seconds = 60) {
  RecorderOptions result;
  result.slab_limit = limit;
  result.time_limit_s = seconds;
  return result;
}

TEST(Recorder, AFreshOutput) {
  Recorder recorder(options(), nullptr);
  const StepRecord& record = recorder.record(step("aten::relu", {Ref{0}}, {f32({2, 3})}));
  EXPECT_THAT(record.events, ElementsAre(AllocEvent{true, 0, 24}));
  ASSERT_EQ(record.outputs.size(), 1u);
  EXPECT_EQ(record.outputs[0], (StepOutput{OutputHome::fresh, 0, f32({2, 3})}));
  EXPECT_EQ(record.basis, Basis::measured);
  EXPECT_GT(record.ms, 0);
  EXPECT_EQ(recorder.counts().measured, 1);
  EXPECT_EQ(recorder.peak_bytes(), 48);
  // Asked again: the same object, no second run.
  EXPECT_EQ(&recorder.record(step("aten::relu", {Ref{0}}, {f32({2, 3})})), &record);
  EXPECT_EQ(recorder.counts().measured, 1);
}

TEST(Recorder, AViewIsAnAliasWithItsOwnMeta) {
  Recorder recorder(options(), nullptr);
  TensorMeta operand = f32({4, 6});
  operand.storage_offset = 8;
  operand.storage_bytes = 4 * (8 + 24);
  const StepRecord& record =
      recorder.record(step("aten::slice.Tensor",
                           {Ref{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{5}}, {operand}));
  EXPECT_TRUE(record.events.empty());
  ASSERT_EQ(record.outputs.size(), 1u);
  EXPECT_EQ(record.outputs[0].home, OutputHome::alias);
  EXPECT_EQ(record.outputs[0].source, 0);
  EXPECT_EQ(record.outputs[0].meta,
            (TensorMeta{DType::f32, {4, 3}, {6, 1}, 10, operand.storage_bytes}));
}

TEST(Recorder, AViewThatMustCopyIsFresh) {
  Recorder recorder(options(), nullptr);
  const StepRecord& record =
      recorder.record(step("aten::view", {Ref{0}, Ints{6}}, {f32({2, 3}, {1, 2})}));
  EXPECT_EQ(record.outputs.at(0).home, OutputHome::fresh);
  EXPECT_EQ(record.events.at(0).size, 24);
}

TEST(Recorder, SeveralOutputsOfOneAllocation) {
  Recorder recorder(options(), nullptr);
  // Views of the operand; then views of a copy: the operand cannot be seen flat.
  const StepRecord& split =
      recorder.record(step("aten::split.Tensor", {Ref{0}, std::int64_t{2}}, {f32({5, 3})}));
  ASSERT_EQ(split.outputs.size(), 3u);
  EXPECT_EQ(split.outputs[2].meta.storage_offset, 12);
  EXPECT_EQ(split.outputs[2].meta.sizes, (Ints{1, 3}));
  const StepRecord& topk =
      recorder.record(step("aten::topk", {Ref{0}, std::int64_t{2}}, {f32({3, 8})}));
  ASSERT_EQ(topk.outputs.size(), 2u);
  EXPECT_EQ(topk.outputs[0].home, OutputHome::fresh);
  EXPECT_EQ(topk.outputs[1].home, OutputHome::fresh);
  EXPECT_NE(topk.outputs[0].source, topk.outputs[1].source);
  EXPECT_EQ(topk.outputs[1].meta.dtype, DType::i64);
}

TEST(Recorder, EmptyOutputsHaveAnAllocationOfNoBytes) {
  Recorder recorder(options(), nullptr);
  const StepRecord& record =
      recorder.record(step("aten::_native_batch_norm_legit_no_training",
                           {Ref{0}, Ref{1}, Ref{2}, Ref{3}, Ref{4}, 0.1, 1e-5},
                           {f32({2, 3, 4, 4}), f32({3}), f32({3}), f32({3}), f32({3})}));
  ASSERT_EQ(record.outputs.size(), 3u);
  for (const StepOutput& output : record.outputs) EXPECT_EQ(output.home, OutputHome::fresh);
  const std::int32_t saved = record.outputs[1].source;
  const auto event = std::find_if(record.events.begin(), record.events.end(),
                                  [&](const AllocEvent& e) { return e.is_alloc && e.id == saved; });
  ASSERT_NE(event, record.events.end());
  EXPECT_EQ(event->size, record.outputs[1].meta.storage_bytes);
}

TEST(Recorder, NumbersAreScalars) {
  Recorder recorder(options(), nullptr);
  const StepRecord& record =
      recorder.record(step("aten::sym_size.int", {Ref{0}, std::int64_t{1}}, {f32({2, 3})}));
  EXPECT_EQ(record.outputs.at(0).home, OutputHome::scalar);
}

TEST(Recorder, OperandsOfOneStorage) {
  // x + x's own view: one storage in the slab, counted once.
  Recorder recorder(options(), nullptr);
  StepSpec spec = step("aten::add.Tensor", {Ref{0}, Ref{1}}, {f32({4, 4}), f32({4, 4}, {1, 4})});
  spec.storage_group = {0, 0};
  const StepRecord& record = recorder.record(spec);
  EXPECT_EQ(record.outputs.at(0).home, OutputHome::fresh);
  EXPECT_EQ(recorder.peak_bytes(), 2 * 64);
}

TEST(Recorder, WhatDoesNotFitIsInfeasibleWithABound) {
  Recorder recorder(options(1 * kMiB), nullptr);
  const auto relu = [](std::int64_t n) {
    StepSpec spec = step("aten::relu", {Ref{0}}, {f32({n})});
    spec.output_types = {{TypeKind::tensor, DType::f32, {n}, {1}, false}};
    return spec;
  };
  const StepRecord& inputs = recorder.record(relu(1 << 20));  // 4 MiB of input alone
  EXPECT_TRUE(inputs.infeasible);
  EXPECT_EQ(inputs.upper_bound, 8 * kMiB);
  EXPECT_EQ(inputs.basis, Basis::estimated);
  const StepRecord& output = recorder.record(relu(200 << 10));  // 800 KiB in, 800 KiB out
  EXPECT_TRUE(output.infeasible);
  EXPECT_EQ(output.upper_bound, 2 * 800 * kKiB);
  EXPECT_FALSE(recorder.record(relu(100 << 10)).infeasible);
  EXPECT_EQ(recorder.counts().infeasible, 2);
  EXPECT_EQ(recorder.counts().measured, 1);
  EXPECT_LE(recorder.peak_bytes(), 1 * kMiB);
}

TEST(Recorder, WithoutTimeStepsAreEstimated) {
  Recorder recorder(options(256 * kMiB, 0), nullptr);
  StepSpec spec = step("aten::relu", {Ref{0}}, {f32({8})});
  spec.output_types = {{TypeKind::tensor, DType::f32, {8}, {1}, false}};
  EXPECT_EQ(recorder.record(spec).basis, Basis::estimated);
  EXPECT_EQ(recorder.counts().estimated, 1);
  EXPECT_EQ(recorder.peak_bytes(), 0);
}

TEST(Recorder, RefusalsNameTheOperator) {
  Recorder recorder(options(), nullptr);
  try {
    recorder.record(step("aten::mm", {Ref{0}, Ref{1}}, {f32({2, 3}), f32({2, 3})}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.where(), "aten::mm");
    EXPECT_THAT(error.message(), HasSubstr("cannot be multiplied"));
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
  }
  // The recorder is still good.
  EXPECT_EQ(recorder.record(step("aten::relu", {Ref{0}}, {f32({2})})).outputs.size(), 1u);
}

// Integer division by the usual zeros is refused by PyTorch: ones are tried.
TEST(Recorder, TamerInputsWhereTheUsualOnesAreRefused) {
  Recorder recorder(options(), nullptr);
  const StepRecord& record =
      recorder.record(step("aten::remainder.Tensor", {Ref{0}, Ref{1}}, {i64({4}), i64({4})}));
  EXPECT_EQ(record.outputs.at(0).meta, i64({4}));
}

TEST(Recorder, WorstCaseReturnsAsMuchAsItCan) {
  Recorder recorder(options(), nullptr);
  for (const DType dtype : {DType::f32, DType::boolean, DType::i64, DType::u8}) {
    StepSpec spec = step("aten::nonzero", {Ref{0}}, {tensor(dtype, {300})});
    spec.worst_case = true;
    EXPECT_EQ(recorder.record(spec).outputs.at(0).meta.sizes, (Ints{300, 1})) << dtype_name(dtype);
  }
}

// layer_norm copies an operand that is not row-major: it has no way without.
TEST(Recorder, ACapThatAnOperatorCannotKeepIsDropped) {
  RecorderOptions capped = options();
  capped.workspace_cap = 64;
  Recorder recorder(capped, nullptr);
  StepSpec spec =
      step("aten::layer_norm", {Ref{0}, std::vector<std::int64_t>{32}}, {f32({16, 32}, {1, 16})});
  spec.output_types = {{TypeKind::tensor, DType::f32, {16, 32}, {32, 1}, false}};
  const StepRecord& record = recorder.record(spec);
  EXPECT_FALSE(record.infeasible);
  EXPECT_GE(record.temporary_bytes(), 16 * 32 * 4);
}

TEST(Recorder, AnInjectedFailureLeavesNothingBehind) {
  Recorder recorder(options(), nullptr);
  StepSpec spec = step("aten::softmax.int", {Ref{0}, std::int64_t{0}}, {f32({4, 4}, {1, 4})});
  spec.output_types = {{TypeKind::tensor, DType::f32, {4, 4}, {4, 1}, false}};
  fail_nth_allocation(1);  // the output's, after the input's
  EXPECT_TRUE(recorder.record(spec).infeasible);
  EXPECT_FALSE(recorder.record(step("aten::relu", {Ref{0}}, {f32({4})})).infeasible);
}

TEST(Recorder, StoredRecordsAreNotMeasuredAgain) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "lowwater-recorder-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const StepSpec spec = step("aten::gelu", {Ref{0}}, {f32({2, 3})});
  StepRecord first;
  {
    RecordStore store(folder);
    Recorder recorder(options(), &store);
    first = recorder.record(spec);
    EXPECT_EQ(recorder.counts().measured, 1);
  }
  {
    RecordStore store(folder);
    Recorder recorder(options(256 * kMiB, 0), &store);  // records only
    const StepRecord& known = recorder.record(spec);
    EXPECT_EQ(known.events, first.events);
    EXPECT_EQ(known.outputs, first.outputs);
    EXPECT_EQ(known.ms, first.ms);
    EXPECT_EQ(known.basis, Basis::measured);
    EXPECT_EQ(recorder.counts().known, 1);
    // The cap is part of the key.
    RecorderOptions capped = options(256 * kMiB, 0);
    capped.workspace_cap = kMiB;
    Recorder other(capped, &store);
    StepSpec typed = spec;
    typed.output_types = {{TypeKind::tensor, DType::f32, {2, 3}, {3, 1}, false}};
    EXPECT_EQ(other.record(typed).basis, Basis::estimated);
  }
  std::filesystem::remove_all(folder);
}

TEST(Environment, NamesWhatRecordsDependOn) {
  const std::string key = environment_key(c10::kCPU);
  EXPECT_THAT(key, HasSubstr("torch 2.11"));
  EXPECT_THAT(key, HasSubstr("threads "));
  EXPECT_EQ(key.find('\n'), std::string::npos);
  EXPECT_EQ(key.find("unknown"), std::string::npos);  // the commit was found
  EXPECT_EQ(environment_key(c10::kCPU), key);
}

TEST(Synthetic, SizesStridesAndSharing) {
  const c10::InferenceMode inference;
  TensorMeta view = f32({2, 2}, {1, 8});
  view.storage_offset = 3;
  view.storage_bytes = 100;
  StepSpec spec = step("aten::cat", {},
                       {view, f32({7}), i64({3}), boolean({3}), tensor(DType::f8_e4m3fn, {3})});
  spec.storage_group = {0, 0, 1, 2, 3};
  const auto inputs = synthetic_inputs(spec, c10::kCPU, Synthetic::usual);
  EXPECT_EQ(inputs[0].strides(), at::IntArrayRef({1, 8}));
  EXPECT_EQ(inputs[0].storage_offset(), 3);
  EXPECT_EQ(inputs[0].storage().nbytes(), 100u);
  EXPECT_TRUE(inputs[0].is_alias_of(inputs[1]));
  EXPECT_EQ(inputs[1][3].item<float>(), inputs[0][0][0].item<float>());
  EXPECT_NE(inputs[1][3].item<float>(), 0.0F);
  EXPECT_EQ(inputs[2].sum().item<std::int64_t>(), 0);
  EXPECT_EQ(inputs[3].sum().item<std::int64_t>(), 3);
  // The same numbers every time, also far into a large tensor.
  const StepSpec large = step("aten::relu", {}, {f32({300000})});
  const at::Tensor a = synthetic_inputs(large, c10::kCPU, Synthetic::usual)[0];
  EXPECT_TRUE(at::equal(a, synthetic_inputs(large, c10::kCPU, Synthetic::usual)[0]));
  EXPECT_NEAR(a.mean().item<double>(), 0.0, 0.05);
  EXPECT_NEAR(a.std().item<double>(), 1.0, 0.05);
}

}  // namespace
}  // namespace lowwater
