#include <gtest/gtest.h>

#include <cstdlib>

#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// Saves that meet while one is in flight; the writer is slowed down so that they do.
namespace sherd::io::test {
namespace {

class InFlight : public ::testing::Test {
 protected:
  InFlight() { ::setenv("SHERD_TEST_WRITE_BYTES_PER_SECOND", "400000", 1); }
  ~InFlight() override { ::unsetenv("SHERD_TEST_WRITE_BYTES_PER_SECOND"); }
  TempFolder directory_;
};

TEST_F(InFlight, WaitSkipAndFailAreTheSameOnAllRanks) {
  for (const Overlap when : {Overlap::wait, Overlap::skip, Overlap::fail}) {
    const TempFolder directory;
    on_ranks(1, 3, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory.path(), .overlap = when});
      dtensor::StateDict state = make_state(ranks, Cut::even);
      fill(state, 1);
      const SaveTicket first = checkpointer.save_async(1, state);
      EXPECT_LT(first.phase(), SavePhase::committed);
      fill(state, 2);
      if (when == Overlap::fail) {
        EXPECT_THROW((void)checkpointer.save_async(2, state), IoError);
      } else {
        const SaveTicket second = checkpointer.save_async(2, state);
        EXPECT_EQ(second.valid(), when == Overlap::wait);
        if (second.valid()) {
          EXPECT_EQ(first.phase(), SavePhase::committed);
          EXPECT_GT(second.stall_seconds(), first.stall_seconds());
          second.wait();
        }
      }
      first.wait();
    });
    EXPECT_EQ(list_checkpoints(directory.path()).size(), when == Overlap::wait ? 2U : 1U);
  }
}

TEST_F(InFlight, PhasesComeInOrderAndTheDestructorWaits) {
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    SaveTicket ticket;
    SavePhase last = SavePhase::staged;
    {
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      dtensor::StateDict state = make_state(ranks, Cut::even);
      ticket = checkpointer.save_async(4, state);
      while (last != SavePhase::committed) {
        const SavePhase now = ticket.phase();
        EXPECT_GE(now, last);
        EXPECT_NE(now, SavePhase::failed);
        last = now;
        std::this_thread::yield();
      }
      (void)checkpointer.save_async(5, state);
      ticket = checkpointer.last();
    }
    EXPECT_EQ(ticket.step(), 5);
    EXPECT_EQ(ticket.phase(), SavePhase::committed);
  });
}

TEST_F(InFlight, LoadingWaitsForTheSaveInFlight) {
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory_.path()});
    dtensor::StateDict state = make_state(ranks, Cut::even);
    fill(state, 6);
    (void)checkpointer.save_async(6, state);
    dtensor::StateDict loaded = make_state(ranks, Cut::even);
    const auto report = checkpointer.load_latest(loaded);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->step, 6);
    expect_filled(loaded, 6);
  });
}

}  // namespace
}  // namespace sherd::io::test
