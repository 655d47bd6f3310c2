// The scripted allocator on the CPU: what scopes grant, what slabs count.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using ::testing::ElementsAre;

const bool kInstalled = (install_cpu_allocator(), true);

at::Tensor bytes(std::int64_t size) { return at::empty({size}, at::kByte); }
std::byte* address_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

TEST(Slab, IsFoundByAddressWhileItLives) {
  std::byte* base = nullptr;
  {
    const Slab slab(c10::kCPU, 4096);
    base = slab.base();
    EXPECT_EQ(Slab::find(base), &slab);
    EXPECT_EQ(Slab::find(base + 4095), &slab);
    EXPECT_EQ(Slab::find(base + 4096), nullptr);
    EXPECT_EQ(Slab::find(base - 1), nullptr);
  }
  EXPECT_EQ(Slab::find(base), nullptr);
}

TEST(Slab, RefusedMemoryIsAMachineError) {
  try {
    const Slab slab(c10::kCPU, Bytes{1} << 60);
    FAIL() << "an exbibyte was granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::machine);
  }
}

// x [0,100), y = relu(x) at the same address: its bytes count once, and freeing
// x does not free y.
TEST(Slab, AGrantInPlaceReplacesTheOlderBlock) {
  Slab slab(c10::kCPU, 4096);
  slab.grant(slab.base(), 100);
  slab.grant(slab.base(), 100);
  EXPECT_EQ(slab.account().live, 100);
  EXPECT_EQ(slab.account().peak_live, 100);
  slab.release(slab.base());
  EXPECT_EQ(slab.account().live, 100);
  slab.release(slab.base());
  EXPECT_EQ(slab.account().live, 0);
  EXPECT_EQ(slab.account().grants, 2);
  EXPECT_EQ(slab.account().frees, 2);
}

// older  [0,100) [128,228)      newer [64,192): takes 36 and all of the second
TEST(Slab, OverlappedBytesCountOnce) {
  Slab slab(c10::kCPU, 4096);
  slab.grant(slab.base(), 100);
  slab.grant(slab.base() + 128, 100);
  slab.grant(slab.base() + 64, 128);
  EXPECT_EQ(slab.account().live, 64 + 128);
  slab.release(slab.base() + 128);  // replaced: nothing changes
  EXPECT_EQ(slab.account().live, 64 + 128);
  slab.release(slab.base());
  EXPECT_EQ(slab.account().live, 128);
  slab.release(slab.base() + 64);
  EXPECT_EQ(slab.account().live, 0);
  EXPECT_EQ(slab.account().high_water, 256);
}

TEST(Slab, FirstFitUsesTheLowestGap) {
  Slab slab(c10::kCPU, 1024);
  std::byte* a = slab.grant_first_fit(100, 64);
  std::byte* b = slab.grant_first_fit(64, 64);
  std::byte* c = slab.grant_first_fit(700, 64);
  EXPECT_EQ(a - slab.base(), 0);
  EXPECT_EQ(b - slab.base(), 128);
  EXPECT_EQ(c - slab.base(), 192);
  EXPECT_EQ(slab.grant_first_fit(132, 64), nullptr);  // 892 rounds to 896, 128 are left
  EXPECT_NE(slab.grant_first_fit(128, 64), nullptr);
  slab.release(a);
  EXPECT_EQ(slab.grant_first_fit(128, 64), a);  // exactly the gap
}

TEST(Slab, ResetKeepsWhatLives) {
  Slab slab(c10::kCPU, 4096);
  slab.grant(slab.base(), 1000);
  slab.grant(slab.base() + 1024, 1000);
  slab.release(slab.base() + 1024);
  EXPECT_EQ(slab.account().high_water, 2048);
  slab.reset_account();
  EXPECT_EQ(slab.account().high_water, 1024);
  EXPECT_EQ(slab.account().peak_live, 1000);
  EXPECT_EQ(slab.account().live, 1000);
}

TEST(NoScope, PyTorchAllocatesAndFrees) {
  const Slab slab(c10::kCPU, 4096);
  const at::Tensor tensor = bytes(100);
  EXPECT_EQ(Slab::find(tensor.data_ptr()), nullptr);
  c10::Allocator* allocator = c10::GetAllocator(c10::kCPU);
  void* raw = allocator->raw_allocate(100);
  EXPECT_EQ(Slab::find(raw), nullptr);
  allocator->raw_deallocate(raw);
}

TEST(RecordScope, WritesDownAllocationsAndFrees) {
  Slab slab(c10::kCPU, 4096);
  const at::Tensor before = bytes(10);
  RecordScope scope(slab, 64);
  const at::Tensor first = bytes(100);
  std::optional<at::Tensor> second = bytes(0);
  std::optional<at::Tensor> third = bytes(200);
  void* third_address = third->data_ptr();
  second.reset();
  third.reset();
  const at::Tensor fourth = bytes(50);  // takes the place of the third
  EXPECT_THAT(scope.events(), ElementsAre(AllocEvent{true, 0, 100}, AllocEvent{true, 1, 0},
                                          AllocEvent{true, 2, 200}, AllocEvent{false, 2, 0},
                                          AllocEvent{true, 3, 50}));
  EXPECT_EQ(fourth.data_ptr(), third_address);
  EXPECT_EQ(scope.allocation_of(first.data_ptr()), 0);
  EXPECT_EQ(scope.allocation_of(fourth.data_ptr()), 3);
  EXPECT_EQ(scope.allocation_of(before.data_ptr()), -1);
  EXPECT_EQ(slab.account().live, 150);
  EXPECT_EQ(slab.account().peak_live, 300);
  EXPECT_EQ(slab.account().high_water, 128 + 256);
}

TEST(RecordScope, RawAllocationsCountToo) {
  Slab slab(c10::kCPU, 4096);
  const RecordScope scope(slab, 64);
  c10::Allocator* allocator = c10::GetAllocator(c10::kCPU);
  void* raw = allocator->raw_allocate(100);
  EXPECT_TRUE(slab.contains(raw));
  allocator->raw_deallocate(raw);
  EXPECT_THAT(scope.events(), ElementsAre(AllocEvent{true, 0, 100}, AllocEvent{false, 0, 0}));
  EXPECT_EQ(slab.account().live, 0);
}

TEST(RecordScope, AFullSlabIsOutOfMemory) {
  Slab slab(c10::kCPU, 1024);
  const RecordScope scope(slab, 64);
  const at::Tensor fits = bytes(1000);
  EXPECT_THROW(bytes(100), c10::OutOfMemoryError);
}

TEST(RecordScope, CapRefusesLargeWorkspacesButNotOutputs) {
  Slab slab(c10::kCPU, 4096);
  const RecordScope scope(slab, 64, 500, {1000});
  const at::Tensor small = bytes(500);
  const at::Tensor output = bytes(1000);
  EXPECT_THROW(bytes(501), c10::OutOfMemoryError);
}

TEST(RecordScope, SeesOnlyItsOwnThread) {
  Slab slab(c10::kCPU, 4096);
  const RecordScope scope(slab, 64);
  at::Tensor foreign;
  std::thread([&] { foreign = bytes(100); }).join();
  EXPECT_FALSE(slab.contains(foreign.data_ptr()));
  // A block of the slab may be freed by another thread: the slab's account knows.
  std::optional<at::Tensor> ours = bytes(100);
  std::thread([&] { ours.reset(); }).join();
  EXPECT_EQ(slab.account().live, 0);
  EXPECT_THAT(scope.events(), ElementsAre(AllocEvent{true, 0, 100}));
}

TEST(NativeScope, SuspendsTheOuterScope) {
  Slab slab(c10::kCPU, 4096);
  const RecordScope scope(slab, 64);
  at::Tensor native;
  {
    const NativeScope suspended(c10::kCPU);
    native = bytes(100);
  }
  const at::Tensor ours = bytes(100);
  EXPECT_FALSE(slab.contains(native.data_ptr()));
  EXPECT_TRUE(slab.contains(ours.data_ptr()));
}

TEST(ReplayScope, GivesPlannedAddressesInOrder) {
  Slab slab(c10::kCPU, 4096);
  const std::vector<PlannedAlloc> planned = {{slab.base() + 1024, 100}, {slab.base(), 200}};
  const ReplayScope scope(c10::kCPU, planned, 0);
  const at::Tensor first = bytes(100);
  const at::Tensor empty = bytes(0);  // not in the script: no stray either
  const at::Tensor second = bytes(200);
  EXPECT_EQ(address_of(first), slab.base() + 1024);
  EXPECT_EQ(address_of(second), slab.base());
  EXPECT_EQ(scope.report().strays, 0);
  EXPECT_EQ(scope.report().unused, 0);
  EXPECT_EQ(slab.account().live, 300);
  EXPECT_EQ(slab.account().high_water, 1152);
}

TEST(ReplayScope, AnUnforeseenSizeIsAStrayAndTheScriptWaits) {
  Slab slab(c10::kCPU, 4096);
  const std::vector<PlannedAlloc> planned = {{slab.base(), 100}, {slab.base() + 128, 100}};
  const ReplayScope scope(c10::kCPU, planned, 1000);
  const at::Tensor stray = bytes(300);
  const at::Tensor first = bytes(100);
  EXPECT_FALSE(slab.contains(stray.data_ptr()));
  EXPECT_EQ(address_of(first), slab.base());
  EXPECT_EQ(scope.report().strays, 1);
  EXPECT_EQ(scope.report().stray_bytes, 300);
  EXPECT_EQ(scope.report().unused, 1);
  EXPECT_THROW(bytes(701), c10::OutOfMemoryError);  // 300 of the reserve are taken
}

// The recorded step freed its first block before the second: here it did not,
// and the two would lie on top of each other.
TEST(ReplayScope, ALiveBlockIsNeverOverwritten) {
  Slab slab(c10::kCPU, 4096);
  const std::vector<PlannedAlloc> planned = {{slab.base(), 100}, {slab.base() + 64, 100}};
  {
    const ReplayScope scope(c10::kCPU, planned, 1000);
    const at::Tensor first = bytes(100);
    const at::Tensor second = bytes(100);
    EXPECT_EQ(scope.report().strays, 1);
    EXPECT_FALSE(slab.contains(second.data_ptr()));
  }
  const ReplayScope scope(c10::kCPU, planned, 1000);
  bytes(100);  // freed at once, as recorded
  const at::Tensor second = bytes(100);
  EXPECT_EQ(scope.report().strays, 0);
  EXPECT_EQ(address_of(second), slab.base() + 64);
}

TEST(ReplayScope, SlackTakesAnySmallerSize) {
  Slab slab(c10::kCPU, 4096);
  const std::vector<PlannedAlloc> planned = {{slab.base(), 1000, true}};
  const ReplayScope scope(c10::kCPU, planned, 0);
  const at::Tensor tensor = bytes(300);
  EXPECT_EQ(address_of(tensor), slab.base());
  EXPECT_EQ(slab.account().live, 300);
}

TEST(ReplayScope, OutputsForTheCallerComeFromPyTorch) {
  const std::vector<PlannedAlloc> planned = {{nullptr, 100}};
  at::Tensor output;
  {
    const ReplayScope scope(c10::kCPU, planned, 0);
    output = bytes(100);
    EXPECT_EQ(scope.report().strays, 0);
    EXPECT_EQ(scope.report().caller_bytes, 100);
  }
  EXPECT_EQ(Slab::find(output.data_ptr()), nullptr);
}

TEST(ReplayScope, TensorsMayOutliveTheirSlab) {
  at::Tensor late;
  {
    Slab slab(c10::kCPU, 4096);
    const std::vector<PlannedAlloc> planned = {{slab.base(), 100}};
    const ReplayScope scope(c10::kCPU, planned, 0);
    late = bytes(100);
  }
  late.reset();  // must neither crash nor reach free()
}

TEST(FaultInjection, TheNthAllocationFailsOnce) {
  Slab slab(c10::kCPU, 4096);
  const RecordScope scope(slab, 64);
  fail_nth_allocation(1);
  const at::Tensor first = bytes(10);
  EXPECT_THROW(bytes(10), c10::OutOfMemoryError);
  const at::Tensor third = bytes(10);
  EXPECT_EQ(slab.account().live, 20);
  fail_nth_allocation(0);
  fail_nth_allocation(-1);
  const at::Tensor fourth = bytes(10);
}

TEST(WorkerThreads, AllocateFromPyTorch) {
  Slab slab(c10::kCPU, 1 << 20);
  const RecordScope scope(slab, 64);
  std::vector<at::Tensor> made(64);
  at::parallel_for(0, 64, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) made[static_cast<std::size_t>(i)] = bytes(64);
  });
  for (const at::Tensor& tensor : made) ASSERT_TRUE(tensor.defined());
  Bytes inside = 0;
  for (const at::Tensor& tensor : made) inside += slab.contains(tensor.data_ptr()) ? 64 : 0;
  EXPECT_EQ(slab.account().live, inside);
}

}  // namespace
}  // namespace lowwater
