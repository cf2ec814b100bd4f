// What every device does.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/runtime/device.hpp"
#include "support/device_kinds.hpp"

namespace sherd::runtime {
namespace {

using test::DeviceKind;

class DeviceContract : public testing::TestWithParam<DeviceKind> {
 protected:
  DeviceContract() : device_(GetParam().open()), scope_(device_) {}

  [[nodiscard]] int* pinned(std::size_t count) { return ints(MemoryKind::pinned, count); }
  [[nodiscard]] int* on_device(std::size_t count) { return ints(MemoryKind::device, count); }
  ~DeviceContract() override {
    device_->synchronize();
    for (const Block& block : blocks_) {
      device_->release(block.kind, block.data, block.bytes);
    }
  }

  std::shared_ptr<Device> device_;
  DeviceScope scope_;

 private:
  struct Block {
    MemoryKind kind;
    std::byte* data;
    std::size_t bytes;
  };
  [[nodiscard]] int* ints(MemoryKind kind, std::size_t count) {
    blocks_.push_back({kind, device_->allocate(kind, count * sizeof(int)), count * sizeof(int)});
    return reinterpret_cast<int*>(blocks_.back().data);
  }
  std::vector<Block> blocks_;
};

constexpr std::size_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(int);

TEST_P(DeviceContract, CopiesThereAndBackInOrder) {
  Stream& stream = device_->compute_stream();
  int* from = pinned(kCount);
  int* to = pinned(kCount);
  int* there = on_device(kCount);
  int* elsewhere = on_device(kCount);
  std::iota(from, from + kCount, 3);
  stream.copy(there, from, kBytes);
  stream.copy(elsewhere, there, kBytes);
  stream.copy(to, elsewhere, kBytes);
  stream.synchronize();
  EXPECT_EQ(std::memcmp(from, to, kBytes), 0);
}

TEST_P(DeviceContract, UploadedMemoryMayBeReusedAtOnce) {
  Stream& stream = device_->compute_stream();
  std::vector<int> source(kCount, 41);
  int* there = on_device(kCount);
  int* back = pinned(kCount);
  stream.upload(there, source.data(), kBytes);
  source.assign(kCount, 0);
  stream.copy(back, there, kBytes);
  stream.synchronize();
  EXPECT_EQ(back[0], 41);
  EXPECT_EQ(back[kCount - 1], 41);
}

TEST_P(DeviceContract, ZeroesAndTakesNothing) {
  Stream& stream = device_->compute_stream();
  int* there = on_device(kCount);
  int* back = pinned(kCount);
  stream.fill_zero(there, kBytes);
  stream.copy(back, there, kBytes);
  stream.copy(nullptr, nullptr, 0);
  stream.upload(nullptr, nullptr, 0);
  stream.fill_zero(nullptr, 0);
  stream.synchronize();
  EXPECT_EQ(back[kCount / 2], 0);
}

TEST_P(DeviceContract, AnEventOrdersTwoStreams) {
  Stream& first = device_->compute_stream();
  const auto second = device_->make_stream();
  int* from = pinned(kCount);
  int* to = pinned(kCount);
  int* there = on_device(kCount);
  std::fill_n(from, kCount, 5);
  first.fill_zero(there, kBytes);
  first.copy(there, from, kBytes);
  second->wait(first.record());
  second->copy(to, there, kBytes);
  const Event copied = second->record();
  copied.synchronize();
  EXPECT_TRUE(copied.done());
  EXPECT_EQ(to[kCount - 1], 5);
}

TEST_P(DeviceContract, AnEventIsDoneByItself) {
  Stream& stream = device_->compute_stream();
  std::atomic<bool> ran = false;
  stream.run([&ran] { ran = true; });
  const Event event = stream.record();
  while (!event.done()) {
    device_->progress();
  }
  EXPECT_TRUE(ran);
  EXPECT_TRUE(Event().done());
  Event().synchronize();
}

TEST_P(DeviceContract, TimesLieBetweenEvents) {
  Stream& stream = device_->compute_stream();
  const Event before = stream.record(Timing::on);
  stream.fill_zero(on_device(kCount), kBytes);
  const Event after = stream.record(Timing::on);
  device_->synchronize();
  EXPECT_GE(after.seconds_since(before), 0.0);
  EXPECT_LT(after.seconds_since(before), 10.0);
}

TEST_P(DeviceContract, ReleasedBlocksAreHandedOutAgain) {
  std::byte* first = device_->allocate(MemoryKind::device, 5000);
  const PoolStats with_one = device_->stats(MemoryKind::device);
  device_->release(MemoryKind::device, first, 5000);
  std::byte* second = device_->allocate(MemoryKind::device, 4990);
  const PoolStats again = device_->stats(MemoryKind::device);
  EXPECT_EQ(first, second);
  EXPECT_EQ(again.system_requests, with_one.system_requests);
  EXPECT_EQ(again.live_bytes, with_one.live_bytes - 10);
  device_->release(MemoryKind::device, second, 4990);
  EXPECT_GT(device_->release_pooled(MemoryKind::device), 0U);
  EXPECT_EQ(device_->stats(MemoryKind::device).system_bytes, 0U);
}

TEST_P(DeviceContract, SaysWhatItIs) {
  EXPECT_FALSE(device_->description().name.empty());
  EXPECT_GT(device_->memory().total, 0U);
  EXPECT_LE(device_->memory().free, device_->memory().total);
  EXPECT_EQ(current_device(), device_.get());
  {
    const DeviceScope none(nullptr);
    EXPECT_EQ(current_device(), nullptr);
  }
  EXPECT_EQ(current_device(), device_.get());
}

TEST_P(DeviceContract, MoreMemoryThanThereIsIsAnErrorWithTheBytes) {
  const std::size_t most = device_->memory().total;
  try {
    static_cast<void>(device_->allocate(MemoryKind::device, most + 1));
    FAIL() << "more than all memory was given";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(most + 1)), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract, testing::ValuesIn(test::device_kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace sherd::runtime
