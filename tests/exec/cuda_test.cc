// The scripted allocator in front of CUDA's, and recording on the device.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "exec/recorder.h"
#include "exec/scripted_allocator.h"
#include "lowwater/error.h"
#include "needs_cuda.h"
#include "specs.h"

#ifdef LOWWATER_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace lowwater {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const c10::Device kDevice(c10::kCUDA, 0);

at::Tensor bytes(std::int64_t size) {
  return at::empty({size}, at::TensorOptions(kDevice).dtype(at::kByte));
}

TEST(Cuda, ScopesServeAndEverythingElseGoesToPyTorch) {
  NEEDS_CUDA();
  install_cuda_allocator();
  install_cuda_allocator();
  Slab slab(kDevice, kMiB);
  const at::Tensor outside = bytes(100);
  EXPECT_EQ(Slab::find(outside.data_ptr()), nullptr);
  {
    const RecordScope scope(slab, 512);
    at::Tensor first = bytes(100);
    const at::Tensor second = bytes(600);
    EXPECT_EQ(first.data_ptr(), slab.base());
    EXPECT_EQ(second.data_ptr(), slab.base() + 512);
    first.reset();
    EXPECT_THAT(scope.events(), ElementsAre(AllocEvent{true, 0, 100}, AllocEvent{true, 1, 600},
                                            AllocEvent{false, 0, 0}));
    EXPECT_THROW(bytes(2 * kMiB), c10::OutOfMemoryError);
  }
  EXPECT_EQ(slab.account().live, 0);
  const std::vector<PlannedAlloc> planned = {{slab.base() + 1024, 100}, {nullptr, 50}};
  const ReplayScope scope(kDevice, planned, 1000);
  const at::Tensor inside = bytes(100), output = bytes(50), stray = bytes(70);
  EXPECT_EQ(inside.data_ptr(), slab.base() + 1024);
  EXPECT_EQ(Slab::find(output.data_ptr()), nullptr);
  EXPECT_EQ(Slab::find(stray.data_ptr()), nullptr);
  EXPECT_EQ(scope.report().strays, 1);
  EXPECT_EQ(scope.report().caller_bytes, 50);
}

#ifdef LOWWATER_CUDA
// What the pluggable base class would refuse must reach PyTorch's allocator.
TEST(Cuda, PyTorchsOwnFeaturesStillWork) {
  NEEDS_CUDA();
  install_cuda_allocator();
  namespace caching = c10::cuda::CUDACachingAllocator;
  caching::CUDAAllocator* allocator = caching::get();
  EXPECT_EQ(allocator->name(), "native");
  EXPECT_FALSE(allocator->isHistoryEnabled());
  const at::Tensor tensor = bytes(kMiB);
  EXPECT_GE(allocator->getDeviceStats(0).allocated_bytes[0].current, kMiB);
  EXPECT_FALSE(allocator->snapshot().segments.empty());
  std::size_t largest = 0;
  allocator->cacheInfo(0, &largest);
  EXPECT_GT(allocator->getMemoryInfo(0).second, 0u);
  const c10::cuda::MempoolId_t pool{0, 4711};
  allocator->beginAllocateToPool(0, pool, [](cudaStream_t) { return true; });
  at::Tensor pooled = bytes(kMiB);
  allocator->endAllocateToPool(0, pool);
  EXPECT_EQ(allocator->getPoolUseCount(0, pool), 1);
  pooled.reset();
  allocator->releasePool(0, pool);
  void* raw = allocator->raw_alloc(100);
  allocator->raw_delete(raw);
  allocator->emptyCache();
}
#endif

StepSpec convolution(std::int64_t batch) {
  StepSpec spec = step(
      "aten::conv2d",
      {Ref{0}, Ref{1}, Ref{2}, std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1}},
      {f32({batch, 64, 128, 128}), f32({64, 64, 3, 3}), f32({64})});
  spec.output_types = {{TypeKind::tensor,
                        DType::f32,
                        {batch, 64, 128, 128},
                        contiguous_strides({batch, 64, 128, 128}),
                        false}};
  return spec;
}

TEST(Cuda, RecordsInsideTheLimit) {
  NEEDS_CUDA();
  RecorderOptions options;
  options.device = kDevice;
  options.slab_limit = 256 * kMiB;
  Recorder recorder(options, nullptr);
  const StepRecord& record = recorder.record(convolution(2));
  EXPECT_EQ(record.basis, Basis::measured);
  EXPECT_GT(record.ms, 0);
  EXPECT_LT(record.ms, 100);
  ASSERT_EQ(record.outputs.size(), 1u);
  EXPECT_EQ(record.outputs[0].meta.storage_bytes, 8 * kMiB);
  EXPECT_LE(recorder.peak_bytes(), options.slab_limit);
  EXPECT_GE(recorder.peak_bytes(), 16 * kMiB);
  const StepRecord& large = recorder.record(convolution(100));  // 400 MiB of input
  EXPECT_TRUE(large.infeasible);
  EXPECT_GE(large.upper_bound, 800 * kMiB);
}

TEST(Cuda, ACapKeepsWorkspacesSmall) {
  NEEDS_CUDA();
  RecorderOptions options;
  options.device = kDevice;
  options.slab_limit = 1 * kGiB;
  options.workspace_cap = 1 * kMiB;
  Recorder recorder(options, nullptr);
  const StepRecord& record = recorder.record(convolution(3));
  EXPECT_LE(record.temporary_bytes(), 2 * kMiB);
  EXPECT_EQ(record.outputs.at(0).meta.storage_bytes, 12 * kMiB);
}

TEST(Cuda, EnvironmentNamesTheDevice) {
  NEEDS_CUDA();
  const std::string key = environment_key(kDevice);
  EXPECT_THAT(key, HasSubstr("multiprocessors"));
  EXPECT_THAT(key, HasSubstr("cudnn 9"));
  EXPECT_EQ(key.find('\n'), std::string::npos);
}

TEST(Cuda, MemoryThatTheDeviceLacksIsAMachineError) {
  NEEDS_CUDA();
  try {
    const Slab slab(kDevice, Bytes{1} << 50);
    FAIL() << "a pebibyte was granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::machine);
    EXPECT_THAT(error.message(), HasSubstr("cuda:0 refused 1024 TiB"));
  }
  const at::Tensor after = at::ones({4}, at::TensorOptions(kDevice));  // the error did not stick
  EXPECT_EQ(after.sum().item<float>(), 4.0F);
}

}  // namespace
}  // namespace lowwater
