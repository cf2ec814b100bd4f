#include "sherd/optim/loss_scaler.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "sherd/base/error.hpp"

namespace sherd::optim {
namespace {

void run_good_steps(LossScaler& scaler, int count) {
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(scaler.update(true));
  }
}

TEST(LossScaler, GrowsAfterTheIntervalAndNotBefore) {
  LossScaler scaler;
  EXPECT_EQ(scaler.scale(), 65536.0);
  run_good_steps(scaler, 1999);
  EXPECT_EQ(scaler.scale(), 65536.0);
  run_good_steps(scaler, 1);
  EXPECT_EQ(scaler.scale(), 131072.0);
  EXPECT_EQ(scaler.good_steps(), 0);
}

TEST(LossScaler, OverflowLeavesTheStepOutHalvesAndStartsToCountAgain) {
  LossScaler scaler({.growth_interval = 3});
  run_good_steps(scaler, 2);
  EXPECT_FALSE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 32768.0);
  run_good_steps(scaler, 2);
  EXPECT_EQ(scaler.scale(), 32768.0);
  run_good_steps(scaler, 1);
  EXPECT_EQ(scaler.scale(), 65536.0);
}

TEST(LossScaler, StaysAtTheMinimum) {
  LossScaler scaler;
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(scaler.update(false));
  }
  EXPECT_EQ(scaler.scale(), 1.0);
}

// A scale the user put below the minimum must not jump up when a step overflows.
TEST(LossScaler, AScaleBelowTheMinimumDoesNotRise) {
  LossScaler scaler({.initial_scale = 0.5});
  EXPECT_FALSE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 0.5);
}

TEST(LossScaler, NeverGrowsToInfinity) {
  LossScaler scaler({.initial_scale = 0x1p1023, .growth_interval = 1});
  run_good_steps(scaler, 3);
  EXPECT_EQ(scaler.scale(), 0x1p1023);
}

TEST(LossScaler, RestoredGoesOnAsIfNothingHadHappened) {
  LossScaler first({.growth_interval = 5});
  EXPECT_FALSE(first.update(false));
  run_good_steps(first, 3);
  LossScaler second({.growth_interval = 5});
  second.restore(first.scale(), first.good_steps());
  run_good_steps(first, 2);
  run_good_steps(second, 2);
  EXPECT_EQ(first.scale(), 65536.0);
  EXPECT_EQ(second.scale(), first.scale());
  EXPECT_EQ(second.good_steps(), first.good_steps());
}

TEST(LossScaler, RefusesNonsense) {
  EXPECT_THROW(LossScaler({.initial_scale = 0.0}), ConfigError);
  EXPECT_THROW(LossScaler({.initial_scale = std::numeric_limits<double>::infinity()}), ConfigError);
  EXPECT_THROW(LossScaler({.growth_factor = 0.5}), ConfigError);
  EXPECT_THROW(LossScaler({.backoff_factor = 2.0}), ConfigError);
  EXPECT_THROW(LossScaler({.growth_interval = 0}), ConfigError);
  LossScaler scaler;
  EXPECT_THROW(scaler.restore(-1.0, 0), ConfigError);
  EXPECT_THROW(scaler.restore(1.0, -1), ConfigError);
}

}  // namespace
}  // namespace sherd::optim
