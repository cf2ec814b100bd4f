#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temporary_directory.hpp"

/// A process of several ranks dies at every step of a save; the next one must find the newest
/// checkpoint that was complete, bit for bit.
namespace sherd::io::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kRanks = 3;

struct Crash {
  const char* place;
  int expected_step;  ///< what the next program loads
  bool rolled_forward;
};

std::ostream& operator<<(std::ostream& out, const Crash& crash) { return out << crash.place; }

class CrashPoints : public ::testing::TestWithParam<Crash> {
 protected:
  /// In a child process: saves step 1 (or not), then dies in the save of step 2.
  int save_and_die(bool first_save, const char* place) const {
    const pid_t child = ::fork();
    if (child == 0) {
      on_ranks(1, kRanks, [&](comm::MeshComms& comms) {
        const Ranks ranks{comms.world.get(), &comms.mesh};
        dtensor::StateDict state = make_state(ranks, Cut::even);
        Checkpointer checkpointer(comms, {.directory = directory_.path()});
        if (first_save) {
          fill(state, 1);
          checkpointer.save_async(1, state).wait();
        }
        comms.world->barrier();
        if (ranks.rank() == 0) {
          ::setenv("SHERD_CRASH_POINT", place, 1);
        }
        comms.world->barrier();
        fill(state, 2);
        checkpointer.save_async(2, state).wait();
      });
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryDirectory directory_;
};

TEST_P(CrashPoints, TheNewestCompleteCheckpointIsLoaded) {
  ASSERT_EQ(save_and_die(true, GetParam().place), 137);
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory_.path()});
    dtensor::StateDict loaded = make_state(ranks, Cut::last_is_empty);
    const auto report = checkpointer.load_latest(loaded, {.per_rank = PerRank::keep});
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->step, GetParam().expected_step);
    expect_filled(loaded, static_cast<std::uint64_t>(GetParam().expected_step));
    EXPECT_EQ(::testing::Value(report->notes, Contains(HasSubstr("committed as"))),
              GetParam().rolled_forward);
    fill(loaded, 3);
    checkpointer.save_async(3, loaded).wait();
  });
  for (const CheckpointInfo& info : list_checkpoints(directory_.path())) {
    EXPECT_TRUE(info.committed) << info.path;
    EXPECT_TRUE(verify_checkpoint(info.path).ok) << info.path;
  }
}

TEST_P(CrashPoints, ACrashInTheFirstSaveLeavesNothingOrAllOfIt) {
  ASSERT_EQ(save_and_die(false, GetParam().place), 137);
  on_ranks(1, 1, [&](comm::MeshComms& comms) {
    const Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory_.path()});
    dtensor::StateDict loaded = make_state(ranks, Cut::even);
    const auto report = checkpointer.load_latest(loaded, {.per_rank = PerRank::keep});
    EXPECT_EQ(report.has_value(), GetParam().expected_step == 2);
  });
}

TEST(LiveWriter, ItsFolderIsLeftAloneUntilItIsKilled) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SHERD_TEST_WRITE_BYTES_PER_SECOND", "5000", 1);  // a minute's work
    on_ranks(1, 1, [&](comm::MeshComms& comms) {
      Checkpointer checkpointer(comms, {.directory = directory.path()});
      const dtensor::StateDict state = make_state(Ranks{comms.world.get(), &comms.mesh}, Cut::even);
      checkpointer.save_async(1, state).wait();
    });
    ::_exit(0);
  }
  const auto in_flight = [&] { return list_checkpoints(directory.path()); };
  while (in_flight().empty() || !std::filesystem::exists(in_flight()[0].path / "plan.json")) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "the writer has ended";
  }
  const auto load = [&] {
    on_ranks(1, 1, [&](comm::MeshComms& comms) {
      Checkpointer checkpointer(comms, {.directory = directory.path()});
      dtensor::StateDict state = make_state(Ranks{comms.world.get(), &comms.mesh}, Cut::even);
      EXPECT_FALSE(checkpointer.load_latest(state).has_value());
    });
  };
  load();
  EXPECT_EQ(in_flight().size(), 1U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  load();
  EXPECT_TRUE(in_flight().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Places, CrashPoints,
    ::testing::Values(Crash{"after_staging", 1, false}, Crash{"after_staging:2", 1, false},
                      Crash{"during_write:1", 1, false}, Crash{"during_write:0", 1, false},
                      Crash{"before_vote:2", 1, false}, Crash{"before_vote:0", 1, false},
                      Crash{"after_votes", 2, true}, Crash{"before_rename", 2, true},
                      Crash{"after_rename", 2, false}));

}  // namespace
}  // namespace sherd::io::test
