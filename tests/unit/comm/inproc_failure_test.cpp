#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd {
namespace {

using comm::Communicator;
using testing::HasSubstr;

/// Sets a variable of the environment for the time of a test.
class ScopedTimeout {
 public:
  explicit ScopedTimeout(const char* seconds) { setenv("SHERD_COMM_TIMEOUT", seconds, 1); }
  ~ScopedTimeout() { setenv("SHERD_COMM_TIMEOUT", "100", 1); }
};

TEST(InprocFailure, TheFirstExceptionComesOutAndTheOthersDoNotHang) {
  std::atomic<int> told{0};
  const auto body = [&](Communicator& comm) {
    if (comm.rank() == 2) {
      throw std::runtime_error("rank 2 has a problem of its own");
    }
    try {
      comm.barrier();
    } catch (const CommError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 2 has failed"));
      ++told;
      throw;
    }
  };
  try {
    comm::run_inproc(4, body);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "rank 2 has a problem of its own");
  }
  EXPECT_EQ(told, 3);
}

TEST(InprocFailure, WaitersOnAnEpochBoardAreToldToo) {
  EXPECT_THROW(comm::run_inproc(2,
                                [](Communicator& comm) {
                                  const auto board = comm.make_epoch_board(1);
                                  if (comm.rank() == 1) {
                                    throw std::runtime_error("no");
                                  }
                                  EXPECT_THROW(board->wait_all(0, 1, "a post"), CommError);
                                }),
               std::runtime_error);
}

TEST(InprocFailure, ATimeoutNamesTheMissingRanks) {
  const ScopedTimeout timeout("0.05");
  comm::run_inproc(4, [](Communicator& comm) {
    const auto board = comm.make_epoch_board(2);
    if (comm.rank() != 0) {
      if (comm.rank() == 2) {
        board->post(1, 5);
      }
      board->post(0, 1);
    } else {
      board->post(1, 5);
      try {
        board->wait_all(1, 5, "the gather of layers.3");
        ADD_FAILURE() << "nothing was thrown";
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the gather of layers.3"));
        EXPECT_THAT(error.what(), HasSubstr("ranks 1, 3 (of 4)"));
      }
    }
  });
}

TEST(InprocFailure, ABadTimeoutIsRefused) {
  const ScopedTimeout timeout("soon");
  EXPECT_THROW(comm::run_inproc(1, [](Communicator&) {}), ConfigError);
}

}  // namespace
}  // namespace sherd
