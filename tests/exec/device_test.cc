// Devices, host memory within control groups, out-of-memory errors in disguise.
#include "exec/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "exec/device_host.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using ::testing::HasSubstr;

std::string error_text(const std::string& name, ErrorKind kind) {
  try {
    parse_device(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << name;
    return error.what();
  }
  return "no error";
}

TEST(Device, NamesAreParsed) {
  EXPECT_EQ(parse_device("cpu"), c10::Device(c10::kCPU));
  for (const std::string name :
       {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "CPU", "cuda: 0"}) {
    EXPECT_THAT(error_text(name, ErrorKind::bad_input),
                HasSubstr("\"" + name + "\" is not a device"))
        << name;
  }
}

TEST(Device, AbsentOnesAreToldFromWhatIsThere) {
  const std::string text = error_text("cuda:63", ErrorKind::machine);
  EXPECT_THAT(text, HasSubstr("cuda:63 is not available"));
  EXPECT_THAT(text, HasSubstr("available devices: cpu"));
  if (!cuda_devices().empty()) return;
  EXPECT_THAT(error_text("cuda:0", ErrorKind::machine), HasSubstr("cuda:0 is not available: "));
}

TEST(Device, HostHasMemory) {
  const DeviceInfo info = device_info(c10::kCPU);
  EXPECT_GT(info.total, 256 * kMiB);
  EXPECT_GT(info.free, 0);
  EXPECT_LE(info.free, info.total);
  const ProcessMemory memory = process_memory(c10::kCPU);
  EXPECT_GT(memory.bytes, kMiB);
  EXPECT_LT(memory.bytes, info.total);
}

TEST(Device, LibrariesHaveVersions) {
  const std::vector<std::string> lines = library_versions();
  EXPECT_THAT(lines.front(), ::testing::StartsWith("PyTorch 2."));
}

// A folder with /proc and /sys as the kernel would show them.
class HostMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    write("/proc/meminfo",
          "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:    8388608 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  const std::string root_ =
      std::filesystem::temp_directory_path() / ("lowwater-host-" + std::to_string(getpid()));
};

TEST_F(HostMemoryTest, WithoutGroupsIsTheMachines) {
  EXPECT_EQ(host_memory(root_).total, 16 * kGiB);
  EXPECT_EQ(host_memory(root_).free, 8 * kGiB);
}

TEST_F(HostMemoryTest, TheTightestGroupOnTheWayUpHolds) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/memory.max", "4294967296\n");
  write("/sys/fs/cgroup/outer/memory.current", "3221225472\n");
  write("/sys/fs/cgroup/outer/memory.stat", "anon 2147483648\ninactive_file 1073741824\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(host_memory(root_).total, 4 * kGiB);
  EXPECT_EQ(host_memory(root_).free, 2 * kGiB);  // page cache can be dropped
}

TEST_F(HostMemoryTest, AContainerSeesItsGroupAtTheMount) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/memory.current", "2147483648\n");
  EXPECT_EQ(host_memory(root_).total, kGiB);
  EXPECT_EQ(host_memory(root_).free, 0);
}

TEST_F(HostMemoryTest, FirstVersionOfControlGroups) {
  write("/proc/self/cgroup", "3:memory:/job\n1:cpu:/other\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
  EXPECT_EQ(host_memory(root_).total, 2 * kGiB);
  EXPECT_EQ(host_memory(root_).free, kGiB);
}

TEST(OutOfMemory, IsKnownInDisguise) {
  for (const char* message : {
           "CUDA out of memory. Tried to allocate 20.00 MiB",
           "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
           "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
           "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
           "cuFFT error: CUFFT_INTERNAL_ERROR",
           "Unable to find an engine to execute this computation",
           "GET was unable to find an engine to execute this computation",
           "NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"CUDACachingAllocator.cpp\":1",
           "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory",
           "std::bad_alloc",
       }) {
    EXPECT_TRUE(is_out_of_memory(message)) << message;
  }
  for (const char* message :
       {"CUDA error: an illegal memory access was encountered", "index out of range",
        "expected scalar type Float but found Half", ""}) {
    EXPECT_FALSE(is_out_of_memory(message)) << message;
  }
}

}  // namespace
}  // namespace lowwater
