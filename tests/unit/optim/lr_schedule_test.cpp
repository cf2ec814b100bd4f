#include "sherd/optim/lr_schedule.hpp"

#include <gtest/gtest.h>

namespace sherd::optim {
namespace {

TEST(LrSchedule, ConstantStaysAtItsPeak) {
  const LrSchedule schedule{.peak = 0.5, .total_steps = 10};
  for (const std::int64_t step : {0, 5, 9, 10, 1000}) {
    EXPECT_EQ(schedule.at(step), 0.5);
  }
}

TEST(LrSchedule, WarmUpIsLinearFromTheFirstStep) {
  const LrSchedule schedule{.peak = 0.8, .warmup_steps = 4, .total_steps = 10};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(3), 0.8);
  EXPECT_DOUBLE_EQ(schedule.at(4), 0.8);
}

TEST(LrSchedule, CosineFallsFromPeakToMinimum) {
  const LrSchedule schedule{.kind = LrSchedule::Kind::cosine,
                            .peak = 1.0,
                            .minimum = 0.2,
                            .warmup_steps = 2,
                            .total_steps = 10};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(2), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(6), 0.6);  // half way
  EXPECT_NEAR(schedule.at(4), 0.2 + 0.4 * (1.0 + 0.70710678118654752), 1e-15);
  EXPECT_EQ(schedule.at(10), 0.2);
  EXPECT_EQ(schedule.at(11), 0.2);
  for (std::int64_t step = 2; step < 10; ++step) {
    EXPECT_GT(schedule.at(step), schedule.at(step + 1));
  }
}

TEST(LrSchedule, WarmUpLongerThanTheRunNeverDividesByZero) {
  const LrSchedule schedule{
      .kind = LrSchedule::Kind::cosine, .peak = 1.0, .warmup_steps = 5, .total_steps = 5};
  EXPECT_DOUBLE_EQ(schedule.at(4), 1.0);
  EXPECT_EQ(schedule.at(5), 0.0);
}

}  // namespace
}  // namespace sherd::optim
