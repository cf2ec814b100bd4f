#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "sherd/tensor/memory_stats.hpp"
#include "sherd/tensor/tensor.hpp"
#include "tensor/memory_pool.hpp"

namespace sherd {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

bool aligned(const std::byte* data, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

TEST(MemoryPoolTest, ClassesWasteAtMostAnEighth) {
  for (std::size_t bytes = 513; bytes < 4 * kMebi; bytes = bytes * 5 / 4 + 7) {
    const std::size_t block = host_pool().class_bytes(bytes);
    EXPECT_GE(block, bytes);
    EXPECT_EQ(host_pool().class_bytes(block), block) << "a class must be its own class";
    EXPECT_LE(static_cast<double>(block - bytes),
              bytes > 2 * kMebi ? 2.0 * kMebi : static_cast<double>(bytes) / 8);
  }
  EXPECT_EQ(host_pool().class_bytes(0), 64U);
  EXPECT_EQ(host_pool().class_bytes(65), 128U);
}

TEST(MemoryPoolTest, BlocksAreAligned) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, kMebi}) {
    EXPECT_TRUE(aligned(Storage::allocate(bytes)->data(), 64)) << bytes;
  }
  EXPECT_TRUE(aligned(Storage::allocate(2 * kMebi)->data(), 2 * kMebi));
  EXPECT_TRUE(aligned(Storage::allocate(3 * kMebi + 5)->data(), 2 * kMebi));
}

TEST(MemoryPoolTest, ADroppedBlockIsHandedOutAgain) {
  const std::byte* first = Storage::allocate(1000)->data();
  EXPECT_EQ(Storage::allocate(990)->data(), first);
}

TEST(MemoryPoolTest, ASteadyStateAsksTheSystemNoMore) {
  const auto step = [] {
    std::vector<Tensor> tensors;
    for (std::int64_t i = 0; i < 20; ++i) {
      tensors.push_back(Tensor::empty(Shape{1 + i * 40000}, DType::f32));
    }
  };
  step();
  const std::int64_t requests = memory_stats().system_requests;
  step();
  step();
  EXPECT_EQ(memory_stats().system_requests, requests);
}

TEST(MemoryPoolTest, CountsLivePeakAndPooledBytes) {
  release_pooled_memory();
  const MemoryStats before = memory_stats();
  reset_peak_bytes();
  {
    const Tensor tensor = Tensor::empty(Shape{1001}, DType::f32);
    EXPECT_EQ(memory_stats().live_bytes, before.live_bytes + 4004);
    EXPECT_EQ(memory_stats().live_blocks, before.live_blocks + 1);
  }
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.peak_bytes, before.live_bytes + 4004);
  EXPECT_EQ(after.pooled_bytes, host_pool().class_bytes(4004));
  EXPECT_EQ(release_pooled_memory(), after.pooled_bytes);
  EXPECT_EQ(memory_stats().pooled_bytes, 0U);
  EXPECT_EQ(memory_stats().system_bytes, after.system_bytes - after.pooled_bytes);
}

TEST(MemoryPoolTest, BorrowedMemoryIsNotPooled) {
  const MemoryStats before = memory_stats();
  std::vector<std::byte> owner(64);
  auto alive = std::make_shared<int>(1);
  auto storage = Storage::borrow(owner.data(), owner.size(), alive);
  EXPECT_EQ(alive.use_count(), 2);
  EXPECT_EQ(storage->data(), owner.data());
  EXPECT_EQ(memory_stats().live_bytes, before.live_bytes);
  storage.reset();
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(memory_stats().pooled_bytes, before.pooled_bytes);
}

TEST(MemoryPoolTest, ThreadsNeverShareALiveBlock) {
  const auto work = [](int mark) {
    for (int round = 0; round < 300; ++round) {
      const auto storage = Storage::allocate(static_cast<std::size_t>(1 + round % 7) * 900);
      std::memset(storage->data(), mark, storage->size());
      for (std::size_t i = 0; i < storage->size(); i += 61) {
        ASSERT_EQ(static_cast<int>(storage->data()[i]), mark);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int mark = 1; mark <= 4; ++mark) {
    threads.emplace_back(work, mark);
  }
}

}  // namespace
}  // namespace sherd
