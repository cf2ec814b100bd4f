#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/runtime/emulated_device.hpp"

namespace sherd::runtime {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::uint64_t kSeeds = 32;

EmulatedOptions small(std::uint64_t seed) {
  return {.memory_bytes = std::size_t{16} << 20, .seed = seed};
}

struct Block {
  Block(std::shared_ptr<Device> of, MemoryKind where)
      : device(std::move(of)), kind(where), data(device->allocate(kind, kPageBytes)) {}
  ~Block() { device->release(kind, data, kPageBytes); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(data); }

  std::shared_ptr<Device> device;
  MemoryKind kind;
  std::byte* data;
};

/// What a reader on another stream sees of a 2 that the compute stream wrote.
float read_elsewhere(std::uint64_t seed, bool ordered) {
  const auto device = make_emulated(small(seed));
  const Block there(device, MemoryKind::device);
  const Block back(device, MemoryKind::pinned);
  const auto other = device->make_stream();
  const float two = 2.0F;
  device->compute_stream().upload(there.data, &two, sizeof two);
  if (ordered) {
    other->wait(device->compute_stream().record());
  }
  other->copy(back.data, there.data, sizeof two);
  other->synchronize();
  device->synchronize();
  return back.floats()[0];
}

TEST(EmulatedDevice, AMissingWaitIsSeenUnderSomeSeed) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(read_elsewhere(seed, true), 2.0F) << "seed " << seed;
    wrong += std::isnan(read_elsewhere(seed, false)) ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, static_cast<int>(kSeeds));  // and is luck under others
}

/// What another stream reads of a block that was released while that stream still had to read it.
float read_released(std::uint64_t seed, bool ordered) {
  const auto device = make_emulated(small(seed));
  const Block back(device, MemoryKind::pinned);
  const auto other = device->make_stream();
  {
    const Block there(device, MemoryKind::device);
    const float two = 2.0F;
    device->compute_stream().upload(there.data, &two, sizeof two);
    other->wait(device->compute_stream().record());
    other->copy(back.data, there.data, sizeof two);
    if (ordered) {
      device->compute_stream().wait(other->record());
    }
  }
  device->synchronize();
  return back.floats()[0];
}

TEST(EmulatedDevice, MemoryReleasedTooEarlyIsSeenUnderSomeSeed) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(read_released(seed, true), 2.0F) << "seed " << seed;
    wrong += std::isnan(read_released(seed, false)) ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
}

TEST(EmulatedDevice, PinnedMemoryReleasedBeforeItsCopyIsNaN) {
  const auto device = make_emulated(small(0));
  const Block there(device, MemoryKind::device);
  const Block back(device, MemoryKind::pinned);
  {
    const Block from(device, MemoryKind::pinned);
    from.floats()[0] = 1.0F;
    device->compute_stream().copy(there.data, from.data, sizeof(float));
  }
  device->compute_stream().copy(back.data, there.data, sizeof(float));
  device->synchronize();
  EXPECT_TRUE(std::isnan(back.floats()[0]));
}

TEST(EmulatedDevice, FreshMemoryIsNaN) {
  const auto device = make_emulated(small(0));
  const Block there(device, MemoryKind::device);
  const Block back(device, MemoryKind::pinned);
  device->compute_stream().copy(back.data, there.data, kPageBytes);
  device->synchronize();
  EXPECT_TRUE(std::all_of(back.floats(), back.floats() + kPageBytes / sizeof(float),
                          [](float value) { return std::isnan(value); }));
}

TEST(EmulatedDeviceDeathTest, TheHostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto device = make_emulated(small(0));
  const Block there(device, MemoryKind::device);
  EXPECT_DEATH(there.floats()[0] = 1.0F, "");
  const auto open = make_emulated({.memory_bytes = 1 << 20, .protect_memory = false});
  const Block touchable(open, MemoryKind::device);
  touchable.floats()[0] = 1.0F;
  EXPECT_EQ(touchable.floats()[0], 1.0F);
}

TEST(EmulatedDevice, OtherStreamsGoOnWhileAnOperationIsPolled) {
  const auto device = make_emulated(small(3));
  const auto other = device->make_stream();
  bool other_ran = false;
  as_emulated(device->compute_stream())->run_polled([] {}, [&] { return other_ran; });
  other->run([&] { other_ran = true; });
  device->compute_stream().synchronize();
  EXPECT_TRUE(other_ran);
}

TEST(EmulatedDevice, APolledOperationHoldsItsStream) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto device = make_emulated(small(seed));
    int polls = 0;
    int seen = -1;
    auto* stream = as_emulated(device->compute_stream());
    stream->run_polled([&] { polls = 0; }, [&] { return ++polls == 5; });
    stream->run([&] { seen = polls; });
    device->synchronize();
    EXPECT_EQ(seen, 5);
  }
}

TEST(EmulatedDevice, AnErrorOfAnOperationComesOutOfTheWait) {
  const auto device = make_emulated(small(0));
  auto* stream = as_emulated(device->compute_stream());
  stream->execute([] { throw CommError("another rank has failed"); });
  stream->run_polled([] {}, []() -> bool { throw CommError("timed out"); });
  EXPECT_THROW(device->synchronize(), CommError);
  EXPECT_THROW(device->synchronize(), CommError);
  device->synchronize();
}

TEST(EmulatedDevice, AnEventThatNothingReachesIsAnError) {
  const auto device = make_emulated(small(0));
  const auto other = device->make_stream();
  as_emulated(*other)->execute([&] { device->synchronize(); });
  EXPECT_THROW(device->synchronize(), ArgumentError);
}

TEST(EmulatedDevice, EventsOfAnotherDeviceAreRefused) {
  const auto one = make_emulated(small(0));
  const auto two = make_emulated(small(0));
  EXPECT_THROW(one->compute_stream().wait(two->compute_stream().record()), ArgumentError);
}

TEST(EmulatedDevice, QueuesRunBeforeTheyGrowLong) {
  const auto device = make_emulated({.memory_bytes = 1 << 20, .seed = 1, .queued_operations = 10});
  int ran = 0;
  for (int i = 0; i < 100; ++i) {
    device->compute_stream().run([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 90);
}

TEST(EmulatedDevice, AnotherThreadMayWaitForAnEvent) {
  const auto device = make_emulated(small(0));
  const Block there(device, MemoryKind::device);
  device->compute_stream().fill_zero(there.data, kPageBytes);
  const Event event = device->compute_stream().record();
  std::thread writer([event] { event.synchronize(); });
  for (int i = 0; i < 1000; ++i) {
    device->compute_stream().fill_zero(there.data, 64);
  }
  writer.join();
  EXPECT_TRUE(event.done());
}

}  // namespace
}  // namespace sherd::runtime
