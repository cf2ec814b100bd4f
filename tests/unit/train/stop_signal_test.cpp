#include "sherd/train/stop_signal.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "support/temp_folder.hpp"

namespace sherd::train {
namespace {

TEST(StopSignal, EachSignalAsksOnceAndTheOldHandlersComeBack) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) {
    std::signal(number, SIG_IGN);
    {
      const StopSignal stop;
      EXPECT_FALSE(stop.requested());
      std::raise(number);
      EXPECT_TRUE(stop.requested());
      EXPECT_EQ(stop.number(), number);
    }
    std::raise(number);  // ignored again
    std::signal(number, SIG_DFL);
  }
}

TEST(StopSignal, BatchSystemsMayRepeatTheirRequest) {
  const StopSignal stop;
  for (const int number : {SIGUSR1, SIGUSR1, SIGTERM, SIGTERM, SIGUSR2}) {
    std::raise(number);
  }
  EXPECT_EQ(stop.number(), SIGUSR1);
}

TEST(StopSignal, OneMadeLaterKnowsWhatCameBefore) {
  const StopSignal early;
  std::raise(SIGUSR1);
  {
    const StopSignal later;
    EXPECT_EQ(later.number(), SIGUSR1);
  }
  std::raise(SIGTERM);  // still handled
  EXPECT_EQ(early.number(), SIGUSR1);
}

TEST(StopSignalDeathTest, TheSecondInterruptEndsTheProcess) {
  for (const int first : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const StopSignal stop;
          std::raise(first);
          std::raise(SIGINT);
        },
        testing::KilledBySignal(SIGINT), "");
  }
}

}  // namespace
}  // namespace sherd::train
