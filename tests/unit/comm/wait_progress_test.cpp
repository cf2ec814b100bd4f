#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/wait_observer.hpp"

namespace sherd::comm {
namespace {

/// Rank 1 waits for something rank 0 does only while it waits for rank 1 itself.
TEST(WaitProgress, WhatIsInTheBackgroundGoesOnDuringAWait) {
  run_inproc(2, [](Communicator& world) {
    const auto board = world.make_epoch_board(2);
    if (world.rank() == 0) {
      const std::function<void()> background = [&] { board->post(1, 1); };
      const ScopedWaitProgress progress(background);
      board->post(0, 1);
      board->wait_all(0, 1, "the first slot");
    } else {
      board->post(1, 1);
      board->wait_all(1, 1, "the second slot");
      board->post(0, 1);
    }
    world.barrier();
  });
}

TEST(WaitProgress, AnErrorInTheBackgroundEndsTheWait) {
  const auto body = [](Communicator& world) {
    const auto board = world.make_epoch_board(1);
    const std::function<void()> background = [] { throw ArgumentError("failed behind"); };
    const ScopedWaitProgress progress(background);
    if (world.rank() == 0) {
      board->post(0, 1);
      EXPECT_THROW(board->wait_all(0, 1, "a rank that comes later"), ArgumentError);
    }
    static_cast<void>(world.make_epoch_board(1));
  };
  run_inproc(2, body);
}

}  // namespace
}  // namespace sherd::comm
