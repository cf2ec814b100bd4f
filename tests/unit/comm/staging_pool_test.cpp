#include "comm/memory/staging_pool.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace sherd {
namespace {

TEST(StagingPool, HandsADroppedBlockOutAgain) {
  comm::StagingPool pool;
  auto first = pool.take(10000);
  const std::byte* memory = first.get();
  const auto second = pool.take(10000);
  EXPECT_NE(second.get(), memory);
  first.reset();
  EXPECT_EQ(pool.take(9000).get(), memory);
  EXPECT_NE(pool.take(100000).get(), memory);
}

TEST(StagingPool, BlocksMayOutliveIt) {
  std::optional<comm::StagingPool> pool{std::in_place};
  const auto block = pool->take(0);
  pool.reset();
  *block = std::byte{1};
}

}  // namespace
}  // namespace sherd
