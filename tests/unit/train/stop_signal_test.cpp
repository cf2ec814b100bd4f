#include "sherd/train/stop_signal.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/train/agreement.hpp"
#include "unit/train/temp_folder.hpp"

namespace sherd::train {
namespace {

TEST(StopSignal, EachSignalAsksOnceAndTheOldHandlersComeBack) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
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

TEST(StopSignalDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(Agreement, OneRanksProblemIsEverybodys) {
  for (const int ranks : {1, 2, 3}) {
    comm::run_inproc(ranks, [&](comm::Communicator& comm) {
      EXPECT_NO_THROW(agree(comm, [] {}));
      const int guilty = comm.size() - 1;
      const std::string text = test::message_of<ConfigError>([&] {
        agree(comm, [&] {
          if (comm.rank() == guilty) {
            throw IoError("file is gone");
          }
        });
      });
      EXPECT_NE(text.find("file is gone"), std::string::npos);
      EXPECT_EQ(text.rfind("on ", 0) == 0, comm.size() > 1);
      const std::string all = test::message_of<ConfigError>(
          [&] { agree(comm, [] { throw ConfigError("all alike"); }); });
      EXPECT_EQ(all, "all alike");
    });
  }
}

TEST(Agreement, OtherExceptionsPass) {
  comm::run_inproc(1, [](comm::Communicator& comm) {
    EXPECT_THROW(agree(comm, [] { throw ArgumentError("a bug"); }), ArgumentError);
  });
}

}  // namespace
}  // namespace sherd::train
