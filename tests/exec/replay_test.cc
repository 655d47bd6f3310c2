// Steps replayed by their records at packed addresses in a poisoned slab: the
// same bits as a plain call, and no stray.
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exec/call.h"
#include "exec/executor_tensors.h"
#include "exec/recorder_device.h"
#include "exec/recorder_measure.h"
#include "exec/scripted_allocator.h"
#include "exec/synthetic.h"
#include "needs_cuda.h"
#include "specs.h"

namespace lowwater {
namespace {

using c10::IValue;

// One operator at a size that `n` scales.
using Case = std::function<StepSpec(std::int64_t n)>;

const Arg kAbsent = std::monostate{};
Arg number(std::int64_t value) { return value; }

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* op :
       {"relu", "gelu", "silu", "sin", "cos", "neg", "rsqrt", "exp", "sigmoid", "tanh", "log",
        "abs", "hardswish", "hardsigmoid", "elu", "softplus", "leaky_relu", "erf", "sign"}) {
    list.push_back([=](std::int64_t n) {
      return step(std::string("aten::") + op, {Ref{0}}, {f32({n, 3, 8, 5})});
    });
    list.push_back([=](std::int64_t n) {
      return step(std::string("aten::") + op, {Ref{0}}, {f32({n, 3, 8}, {24, 1, 3})});
    });
  }
  for (const char* op :
       {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "eq.Tensor", "maximum"}) {
    list.push_back([=](std::int64_t n) {
      return step(std::string("aten::") + op, {Ref{0}, Ref{1}}, {f32({n, 7}), f32({7})});
    });
    list.push_back([=](std::int64_t n) {
      return step(std::string("aten::") + op, {Ref{0}, Ref{1}}, {f32({4, n}, {1, 4}), f32({4, 1})});
    });
  }
  const auto add = [&](Case made) { list.push_back(std::move(made)); };
  add([](std::int64_t n) {
    return step("aten::mul.Tensor", {Ref{0}, WrappedNumber{2.0}}, {tensor(DType::bf16, {n, 9})});
  });
  add([](std::int64_t n) {
    return step("aten::pow.Tensor_Scalar", {Ref{0}, number(2)}, {f32({n, 9})});
  });
  add([](std::int64_t n) { return step("aten::clamp", {Ref{0}, 0.0, 1.0}, {f32({n, 9})}); });
  add([](std::int64_t n) {
    return step("aten::prelu", {Ref{0}, Ref{1}}, {f32({n, 3, 4}), f32({3})});
  });
  add([](std::int64_t n) {
    return step("aten::where.self", {Ref{0}, Ref{1}, Ref{2}},
                {boolean({n, 1}), f32({n, 5}), f32({5})});
  });
  add([](std::int64_t n) {
    return step("aten::masked_fill.Scalar", {Ref{0}, Ref{1}, -1e9}, {f32({n, 5}), boolean({n, 5})});
  });
  add([](std::int64_t n) {
    return step("aten::clone", {Ref{0}, MemoryFormat::contiguous}, {f32({n, 4, 3}, {12, 1, 4})});
  });
  add([](std::int64_t n) { return step("aten::_to_copy", {Ref{0}, DType::f16}, {f32({n, 4})}); });
  add([](std::int64_t n) { return step("aten::permute", {Ref{0}, Ints{1, 0}}, {f32({n, 4})}); });
  add([](std::int64_t n) { return step("aten::expand", {Ref{0}, Ints{5, n}}, {f32({1, n})}); });
  add([](std::int64_t n) {
    return step("aten::cat", {RefList{{Ref{0}, Ref{1}}}, number(1)}, {f32({2, n}), f32({2, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::stack", {RefList{{Ref{0}, Ref{1}}}}, {f32({n}), f32({n})});
  });
  add([](std::int64_t n) {
    return step("aten::split.Tensor", {Ref{0}, number(2)}, {f32({2 * n, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::pad", {Ref{0}, Ints{1, 2, 1, 1}, std::string("reflect")},
                {f32({n, 2, 5, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::pad", {Ref{0}, Ints{1, 2, 1, 1}, std::string("circular")},
                {f32({n, 2, 5, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::pad", {Ref{0}, Ints{1, 2}, std::string("constant"), 1.0}, {f32({n, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::conv1d", {Ref{0}, Ref{1}, Ref{2}, Ints{1}, Ints{1}},
                {f32({n, 3, 20}), f32({6, 3, 3}), f32({6})});
  });
  add([](std::int64_t n) {
    return step("aten::conv2d", {Ref{0}, Ref{1}, Ref{2}, Ints{1, 1}, Ints{1, 1}},
                {f32({n, 8, 20, 16}), f32({16, 8, 3, 3}), f32({16})});
  });
  add([](std::int64_t n) {
    return step("aten::conv2d",
                {Ref{0}, Ref{1}, kAbsent, Ints{2, 2}, Ints{1, 1}, Ints{2, 2}, number(2)},
                {f32({n, 8, 20, 16}, {2560, 1, 128, 8}), f32({16, 4, 3, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::conv3d", {Ref{0}, Ref{1}, Ref{2}, Ints{1, 1, 1}, Ints{1, 1, 1}},
                {f32({n, 3, 6, 7, 8}), f32({4, 3, 3, 3, 3}), f32({4})});
  });
  add([](std::int64_t n) {
    return step("aten::conv_transpose2d.input", {Ref{0}, Ref{1}, Ref{2}, Ints{2, 2}},
                {f32({n, 8, 9, 7}), f32({8, 4, 2, 2}), f32({4})});
  });
  add([](std::int64_t n) {
    return step("aten::adaptive_avg_pool2d", {Ref{0}, Ints{3, 2}}, {f32({n, 4, 9, 7})});
  });
  add([](std::int64_t n) {
    return step("aten::max_pool2d", {Ref{0}, Ints{3, 3}, Ints{2, 2}, Ints{1, 1}},
                {f32({n, 4, 9, 7})});
  });
  add([](std::int64_t n) {
    return step("aten::avg_pool2d", {Ref{0}, Ints{2, 2}}, {f32({n, 4, 8, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::upsample_nearest2d.vec", {Ref{0}, kAbsent, std::vector<double>{2, 2}},
                {f32({n, 4, 8, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::upsample_bilinear2d.vec", {Ref{0}, Ints{11, 13}, false, kAbsent},
                {f32({n, 4, 8, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::upsample_bicubic2d.vec", {Ref{0}, Ints{11, 13}, true, kAbsent},
                {f32({n, 4, 8, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::grid_sampler", {Ref{0}, Ref{1}, number(0), number(0), false},
                {f32({n, 4, 8, 6}), f32({n, 5, 5, 2})});
  });
  add([](std::int64_t n) {
    return step("aten::roll", {Ref{0}, Ints{1, 2}, Ints{0, 1}}, {f32({n, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::pixel_shuffle", {Ref{0}, number(2)}, {f32({n, 8, 3, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::im2col", {Ref{0}, Ints{2, 2}, Ints{1, 1}, Ints{0, 0}, Ints{1, 1}},
                {f32({n, 2, 5, 5})});
  });
  add([](std::int64_t n) {
    return step("aten::layer_norm", {Ref{0}, Ints{16}, Ref{1}, Ref{2}},
                {f32({n, 5, 16}), f32({16}), f32({16})});
  });
  add([](std::int64_t n) {
    return step("aten::_native_batch_norm_legit_no_training",
                {Ref{0}, Ref{1}, Ref{2}, Ref{3}, Ref{4}, 0.1, 1e-5},
                {f32({n, 3, 4, 4}), f32({3}), f32({3}), f32({3}), f32({3})});
  });
  add([](std::int64_t n) {
    return step("aten::group_norm", {Ref{0}, number(2), Ref{1}, Ref{2}},
                {f32({n, 8, 4, 4}), f32({8}), f32({8})});
  });
  add([](std::int64_t n) {
    return step("aten::instance_norm",
                {Ref{0}, kAbsent, kAbsent, kAbsent, kAbsent, true, 0.1, 1e-5, false},
                {f32({n, 8, 4, 4})});
  });
  add([](std::int64_t n) {
    return step("aten::rms_norm", {Ref{0}, Ints{16}, Ref{1}}, {f32({n, 5, 16}), f32({16})});
  });
  add([](std::int64_t n) {
    return step("aten::linear", {Ref{0}, Ref{1}, Ref{2}},
                {f32({n, 5, 16}), f32({24, 16}), f32({24})});
  });
  add([](std::int64_t n) {
    return step("aten::linear", {Ref{0}, Ref{1}, Ref{2}},
                {tensor(DType::bf16, {n, 5, 16}), tensor(DType::bf16, {24, 16}),
                 tensor(DType::bf16, {24})});
  });
  add([](std::int64_t n) {
    return step("aten::matmul", {Ref{0}, Ref{1}},
                {f32({n, 2, 5, 16}), f32({n, 2, 16, 5}, {160, 80, 1, 16})});
  });
  add([](std::int64_t n) {
    return step("aten::bmm", {Ref{0}, Ref{1}}, {f32({n, 5, 16}), f32({n, 16, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::addmm", {Ref{0}, Ref{1}, Ref{2}}, {f32({3}), f32({n, 16}), f32({16, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::einsum", {std::string("bhc,bwc->bhw"), RefList{{Ref{0}, Ref{1}}}},
                {f32({n, 4, 8}), f32({n, 5, 8})});
  });
  add([](std::int64_t n) {
    return step("aten::cdist", {Ref{0}, Ref{1}}, {f32({n, 30, 8}), f32({n, 40, 8})});
  });
  add([](std::int64_t n) {
    return step("aten::scaled_dot_product_attention", {Ref{0}, Ref{1}, Ref{2}},
                {f32({n, 2, 10, 8}), f32({n, 2, 12, 8}), f32({n, 2, 12, 8})});
  });
  add([](std::int64_t n) {
    return step("aten::scaled_dot_product_attention", {Ref{0}, Ref{1}, Ref{2}, Ref{3}},
                {f32({n, 2, 10, 8}), f32({n, 2, 12, 8}), f32({n, 2, 12, 8}), boolean({10, 12})});
  });
  add([](std::int64_t n) {
    return step("aten::softmax.int", {Ref{0}, number(-1)}, {f32({n, 2, 10})});
  });
  add([](std::int64_t n) {
    return step("aten::mean.dim", {Ref{0}, Ints{-1}, true}, {f32({n, 2, 10})});
  });
  add([](std::int64_t n) {
    return step("aten::sum.dim_IntList", {Ref{0}, Ints{0, 1}}, {f32({n, 200, 100})});
  });
  add([](std::int64_t n) { return step("aten::cumsum", {Ref{0}, number(1)}, {f32({n, 20})}); });
  add([](std::int64_t n) {
    return step("aten::linalg_vector_norm", {Ref{0}, number(2), Ints{1}}, {f32({n, 20})});
  });
  add([](std::int64_t n) { return step("aten::amax", {Ref{0}, Ints{1}}, {f32({n, 20})}); });
  add([](std::int64_t n) { return step("aten::argmax", {Ref{0}, number(1)}, {f32({n, 20})}); });
  add([](std::int64_t n) { return step("aten::topk", {Ref{0}, number(3)}, {f32({n, 20})}); });
  add([](std::int64_t n) {
    return step("aten::sort", {Ref{0}, number(0), true}, {f32({20 * n, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::index.Tensor", {Ref{0}, RefList{{Ref{-1}, Ref{1}}}},
                {f32({n, 20}), i64({7})});
  });
  add([](std::int64_t n) {
    return step("aten::gather", {Ref{0}, number(1), Ref{1}}, {f32({n, 20}), i64({n, 3})});
  });
  add([](std::int64_t n) {
    return step("aten::index_select", {Ref{0}, number(1), Ref{1}}, {f32({n, 20}), i64({3})});
  });
  add([](std::int64_t n) {
    return step("aten::embedding", {Ref{0}, Ref{1}}, {f32({50, 8}), i64({n, 6})});
  });
  add([](std::int64_t n) {
    return step("aten::index_put", {Ref{0}, RefList{{Ref{1}}}, Ref{2}},
                {f32({9, n}), i64({2}), f32({2, n})});
  });
  add([](std::int64_t n) {
    return step("aten::slice_scatter", {Ref{0}, Ref{1}, number(0), number(1), number(3)},
                {f32({9, n}), f32({2, n})});
  });
  add([](std::int64_t n) { return step("aten::repeat", {Ref{0}, Ints{2, 3}}, {f32({n, 4})}); });
  add([](std::int64_t n) { return step("aten::flip", {Ref{0}, Ints{1}}, {f32({n, 4})}); });
  add([](std::int64_t n) { return step("aten::tril", {Ref{0}}, {f32({n, 4, 4})}); });
  add([](std::int64_t n) {
    return step("aten::arange", {number(10 * n), kAbsent, kAbsent, DeviceArg::plan_device}, {});
  });
  add([](std::int64_t n) { return step("aten::full_like", {Ref{0}, 3.0}, {f32({n, 4})}); });
  add([](std::int64_t n) { return step("aten::fft_rfft2", {Ref{0}}, {f32({n, 8, 8})}); });
  add([](std::int64_t n) {
    StepSpec spec = step("aten::nonzero", {Ref{0}}, {boolean({n, 30})});
    spec.worst_case = true;
    return spec;
  });
  return list;
}

// Offsets from the largest allocation down, each at the lowest place where it
// meets none that lives at the same time.
std::vector<PlannedAlloc> pack(const StepRecord& record, const Slab& slab, Bytes alignment) {
  struct Block {
    Bytes size, offset = -1;
    std::size_t begin, end;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < record.events.size(); ++i) {
    const AllocEvent& event = record.events[i];
    if (event.is_alloc) blocks.push_back({event.size, -1, i, record.events.size()});
    if (!event.is_alloc) blocks[static_cast<std::size_t>(event.id)].end = i;
  }
  std::vector<Block*> order;
  for (Block& block : blocks) order.push_back(&block);
  std::stable_sort(order.begin(), order.end(),
                   [](const Block* a, const Block* b) { return a->size > b->size; });
  for (Block* block : order) {
    Bytes offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Block& other : blocks) {
        const bool apart = other.offset < 0 || other.end < block->begin ||
                           block->end < other.begin || offset + block->size <= other.offset ||
                           other.offset + other.size <= offset;
        if (!apart && other.size > 0 && block->size > 0) {
          offset = align_up(other.offset + other.size, alignment);
          moved = true;
        }
      }
    }
    block->offset = offset;
  }
  std::vector<PlannedAlloc> planned;
  for (const Block& block : blocks) planned.push_back({slab.base() + block.offset, block.size});
  return planned;
}

std::vector<at::Tensor> tensors_of(const std::vector<IValue>& results) {
  std::vector<at::Tensor> list;
  for (const IValue& result : results) {
    if (result.isTensor()) list.push_back(result.toTensor());
  }
  return list;
}

// Bit for bit: NaNs are equal if they are the same NaNs.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
  if (a.scalar_type() != b.scalar_type()) return false;
  const at::Tensor x = a.contiguous().cpu(), y = b.contiguous().cpu();
  return x.nbytes() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

// NaN to whoever reads floats, -1 to whoever reads integers.
void poison(const Slab& slab, Bytes size) {
  const c10::Storage all = storage_over(slab.base(), size, slab.device());
  view_of(all, {DType::u8, {size}, {1}, 0, size}).fill_(0xff);
}

// Where the record says that outputs live, there they are, with those metas.
void expect_recorded(const StepRecord& record, const std::vector<at::Tensor>& outputs,
                     const std::vector<PlannedAlloc>& planned) {
  std::size_t next = 0;
  for (const StepOutput& home : record.outputs) {
    if (home.home == OutputHome::scalar || home.home == OutputHome::absent) continue;
    const at::Tensor& output = outputs.at(next++);
    const TensorMeta meta = meta_of(output);
    EXPECT_EQ(home.meta.sizes, meta.sizes);
    EXPECT_EQ(home.meta.strides, meta.strides);
    EXPECT_EQ(home.meta.storage_offset, meta.storage_offset);
    if (home.home != OutputHome::fresh || meta.storage_bytes == 0) continue;
    EXPECT_EQ(output.storage().data(), planned[static_cast<std::size_t>(home.source)].address);
  }
  EXPECT_EQ(next, outputs.size());
}

void replay(const StepSpec& spec, const StepRecord& record, Slab& arena, Bytes alignment) {
  PreparedCall call(spec.op, spec.args, arena.device());
  std::vector<IValue> values;
  for (at::Tensor& input : synthetic_inputs(spec, arena.device(), Synthetic::usual)) {
    values.emplace_back(std::move(input));
  }
  const std::vector<at::Tensor> expected = tensors_of(call.run(values));
  const std::vector<PlannedAlloc> planned = pack(record, arena, alignment);
  poison(arena, kMiB);
  std::vector<at::Tensor> outputs;
  {
    const ReplayScope scope(arena.device(), planned, 0);
    outputs = tensors_of(call.run(values));
    EXPECT_EQ(scope.report().strays, 0);
    EXPECT_EQ(scope.report().unused, 0);
  }
  ASSERT_EQ(expected.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(same_bits(expected[i], outputs[i])) << "output " << i;
  }
  expect_recorded(record, outputs, planned);
}

// Every case, recorded twice and replayed.
void replay_all(c10::Device device, Bytes alignment) {
  const c10::InferenceMode inference;
  std::mt19937 random(7);
  Slab recording(device, 256 * kMiB), arena(device, 256 * kMiB);
  const std::vector<Case> all = cases();
  ASSERT_GE(all.size(), 100u);
  for (const Case& make : all) {
    const StepSpec spec = make(std::uniform_int_distribution<std::int64_t>(1, 4)(random));
    SCOPED_TRACE(spec.key());
    const auto first = measure_step(spec, recording, {alignment, 0});
    const auto again = measure_step(spec, recording, {alignment, 0});
    ASSERT_TRUE(first && again);
    EXPECT_EQ(first->record.events, again->record.events);
    EXPECT_EQ(first->record.outputs, again->record.outputs);
    EXPECT_EQ(recording.account().live, 0);
    replay(spec, first->record, arena, alignment);
    EXPECT_EQ(arena.account().live, 0);
  }
}

TEST(Replay, SameBitsFromPlannedAddressesInAPoisonedSlab) {
  install_cpu_allocator();
  replay_all(c10::kCPU, 64);
}

TEST(Replay, OnCuda) {
  NEEDS_CUDA();
  const c10::Device device(c10::kCUDA, 0);
  install_cpu_allocator();
  install_cuda_allocator();
  warm_up_libraries(device);
  replay_all(device, 512);
}

}  // namespace
}  // namespace lowwater
