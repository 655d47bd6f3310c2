// Where weight storages lie: windows of the mapped file where that works.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "exec/executor.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

class WeightsTest : public ::testing::Test {
 protected:
  const Archive archive_ =
      Archive::open(std::string(LOWWATER_TEST_DATA) + "/archives/net-2.11.0.pt2");
  const WeightTable& table_ = archive_.weights();
  const std::size_t count_ = table_.storages.size();
  const std::vector<bool> all_ = std::vector<bool>(count_, true),
                          none_ = std::vector<bool>(count_, false);

  StorageIndex storage_of(const std::string& name) const {
    return table_.weights[static_cast<std::size_t>(*table_.find(name))].storage;
  }
  bool in_the_file(const std::byte* address) const {
    const auto bytes = archive_.storage_bytes(storage_of("conv.weight"));
    const std::ptrdiff_t distance = address - bytes.data();
    return std::abs(distance) < 64 * 1024;
  }
  bool holds_the_archives_bytes(const DeviceWeights& weights, StorageIndex storage) const {
    const auto bytes = archive_.storage_bytes(storage);
    return std::memcmp(weights.address(storage), bytes.data(), bytes.size()) == 0;
  }
};

TEST_F(WeightsTest, AreWindowsOfTheFile) {
  const DeviceWeights weights(archive_, c10::kCPU, all_, none_);
  Bytes sum = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const auto storage = static_cast<StorageIndex>(i);
    EXPECT_TRUE(weights.loaded(storage));
    sum += table_.storages[i].size;
    if (table_.storages[i].size == 0) {
      EXPECT_EQ(weights.address(storage), nullptr);
      continue;
    }
    EXPECT_EQ(weights.address(storage), archive_.storage_bytes(storage).data());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights.address(storage)) % 64, 0u);
  }
  EXPECT_EQ(weights.device_bytes(), sum);
}

TEST_F(WeightsTest, OnlyWhatIsNeededCounts) {
  std::vector<bool> needed = none_;
  const StorageIndex conv = storage_of("conv.weight");
  needed[static_cast<std::size_t>(conv)] = true;
  const DeviceWeights weights(archive_, c10::kCPU, needed, none_);
  EXPECT_EQ(weights.device_bytes(), table_.storages[static_cast<std::size_t>(conv)].size);
  EXPECT_FALSE(weights.loaded(storage_of("head.weight")));
  EXPECT_EQ(weights.address(storage_of("head.weight")), nullptr);
}

TEST_F(WeightsTest, MutatedStoragesAreCopiesWithAState) {
  const StorageIndex mean = storage_of("bn.running_mean");
  std::vector<bool> mutated = none_;
  mutated[static_cast<std::size_t>(mean)] = true;
  DeviceWeights weights(archive_, c10::kCPU, all_, mutated);
  EXPECT_FALSE(in_the_file(weights.address(mean)));
  EXPECT_TRUE(holds_the_archives_bytes(weights, mean));
  weights.address(mean)[0] = std::byte{0x55};

  std::vector<std::byte> other;  // empty: the archive's own bytes
  weights.exchange_state(other);
  EXPECT_TRUE(holds_the_archives_bytes(weights, mean));
  EXPECT_EQ(other[0], std::byte{0x55});
  weights.address(mean)[0] = std::byte{0x66};
  weights.exchange_state(other);
  EXPECT_EQ(weights.address(mean)[0], std::byte{0x55});
  EXPECT_EQ(other[0], std::byte{0x66});
  EXPECT_NE(archive_.storage_bytes(mean)[0], std::byte{0x55});
}

TEST_F(WeightsTest, LiveOnAfterTheArchiveIsClosed) {
  std::unique_ptr<DeviceWeights> weights;
  {
    const Archive archive = Archive::open(archive_.path());
    weights = std::make_unique<DeviceWeights>(archive, c10::kCPU, all_, none_);
  }
  EXPECT_TRUE(holds_the_archives_bytes(*weights, storage_of("conv.weight")));
}

}  // namespace
}  // namespace lowwater
