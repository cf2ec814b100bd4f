#include "comm/shared/epoch_cell.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace sherd {
namespace {

using namespace std::chrono_literals;
using comm::EpochCell;
using comm::Patience;
using comm::Waited;

struct EpochCellTest : testing::Test {
  EpochCell cell{};
  std::atomic<std::uint32_t> failed{0};
  Patience patience{10, 60s, &failed};
};

TEST_F(EpochCellTest, WhatIsReachedIsNotWaitedFor) {
  comm::post(cell, 3);
  EXPECT_EQ(comm::wait_for(cell, 2, patience), Waited::reached);
  EXPECT_EQ(comm::wait_for(cell, 3, patience), Waited::reached);
}

TEST_F(EpochCellTest, ASleeperIsWokenByThePost) {
  std::jthread poster([&] {
    while (cell.sleepers.load() == 0) {
      std::this_thread::yield();
    }
    comm::post(cell, 1);
  });
  EXPECT_EQ(comm::wait_for(cell, 1, patience), Waited::reached);
}

TEST_F(EpochCellTest, PostsBelowTheGoalDoNotEndTheWait) {
  std::jthread poster([&] {
    for (std::uint64_t epoch = 1; epoch <= 1000; ++epoch) {
      comm::post(cell, epoch);
    }
  });
  EXPECT_EQ(comm::wait_for(cell, 1000, patience), Waited::reached);
}

TEST_F(EpochCellTest, TheCounterMayPassThe32BitsOfAFutex) {
  comm::post(cell, 0xFFFFFFFFULL);
  std::jthread poster([&] {
    while (cell.sleepers.load() == 0) {
      std::this_thread::yield();
    }
    comm::post(cell, 0x100000000ULL);
  });
  EXPECT_EQ(comm::wait_for(cell, 0x100000000ULL, patience), Waited::reached);
}

TEST_F(EpochCellTest, TheWaitEndsWithTheTimeout) {
  patience.timeout = 5ms;
  EXPECT_EQ(comm::wait_for(cell, 1, patience), Waited::timed_out);
}

TEST_F(EpochCellTest, TheWaitEndsWhenARankHasFailed) {
  failed = 1;
  EXPECT_EQ(comm::wait_for(cell, 1, patience), Waited::rank_failed);
}

}  // namespace
}  // namespace sherd
