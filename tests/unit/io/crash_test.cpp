#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "io/disk/crash_point.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// A process of several ranks dies at every step of a save; the next one must find the newest
/// checkpoint that was reported committed, or the one being saved, bit for bit.
namespace sherd::io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kRanks = 3;
constexpr std::uint64_t kNewSeed = 90;  ///< of what the save that dies would have stored

struct Crash {
  CrashPlace place;
  int rank = 0;
  bool overwrite = false;  ///< of step 2, else a new step 3 that makes step 1 go
};

std::ostream& operator<<(std::ostream& out, const Crash& crash) {
  return out << crash.place.name << ":" << crash.rank << (crash.overwrite ? " overwrite" : "");
}

std::size_t order_of(std::string_view name) {
  const auto at = std::find_if(kCrashPlaces.begin(), kCrashPlaces.end(),
                               [&](const CrashPlace& place) { return place.name == name; });
  return static_cast<std::size_t>(at - kCrashPlaces.begin());
}

/// Every place on the ranks that pass it; those of the commit also where a step is replaced.
std::vector<Crash> all_crashes() {
  std::vector<Crash> all;
  for (const CrashPlace& place : kCrashPlaces) {
    const bool replaces = place.scope == CrashScope::overwrite;
    all.push_back({place, 0, replaces});
    if (place.scope == CrashScope::every_rank) {
      all.push_back({place, kRanks - 1, false});
    }
    if (!replaces && place.scope != CrashScope::retention &&
        order_of(place.name) >= order_of("after_votes")) {
      all.push_back({place, 0, true});
    }
  }
  return all;
}

class CrashPoints : public ::testing::TestWithParam<Crash> {
 protected:
  CrashPoints() { std::filesystem::create_directories(lived_); }

  static bool dies_saving_a_replacement() { return GetParam().overwrite; }

  /// In a child process: saves steps 1 and 2 (or nothing), then dies in a save.
  int save_and_die(bool earlier_saves) const {
    const pid_t child = ::fork();
    if (child == 0) {
      on_ranks(1, kRanks, [&](comm::MeshComms& comms) { save_until_death(comms, earlier_saves); });
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void save_until_death(comm::MeshComms& comms, bool earlier_saves) const {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_state(ranks, Cut::even);
    Checkpointer checkpointer(
        comms, {.directory = lived_, .keep_last = 2, .overwrite = GetParam().overwrite});
    for (const std::int64_t step : {1, 2}) {
      fill(state, static_cast<std::uint64_t>(step));
      if (earlier_saves) {
        checkpointer.save_async(step, state).wait();
      }
    }
    comms.world->barrier();
    if (ranks.rank() == 0) {
      const std::string place =
          std::string(GetParam().place.name) + ":" + std::to_string(GetParam().rank);
      ::setenv("SHERD_CRASH_POINT", place.c_str(), 1);
    }
    comms.world->barrier();
    fill(state, kNewSeed);
    checkpointer.save_async(dies_saving_a_replacement() ? 2 : 3, state).wait();
  }

  /// Loads from a copy of the crashed directory on `ranks` ranks, checks what was found and that
  /// the directory serves on.
  void restart(int ranks, const std::function<void(const std::optional<LoadReport>&)>& check) {
    const auto directory = directory_.path() / ("restarted-on-" + std::to_string(ranks));
    std::filesystem::copy(lived_, directory, std::filesystem::copy_options::recursive);
    on_ranks(1, ranks, [&](comm::MeshComms& comms) {
      const comm::Ranks world{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory});
      dtensor::StateDict state = make_state(world, Cut::last_is_empty);
      const auto report = checkpointer.load_latest(state, kAnyRanks);
      if (report) {
        const bool is_new = report->step == 3 || differing_bytes(first_of(state), kNewSeed) == 0;
        expect_filled(state, is_new ? kNewSeed : static_cast<std::uint64_t>(report->step));
        new_found_ = is_new;
      }
      check(report);
      checkpointer.save_async(4, state).wait();
    });
    for (const CheckpointInfo& info : list_checkpoints(directory)) {
      EXPECT_TRUE(info.committed) << info.path;
      EXPECT_TRUE(verify_checkpoint(info.path).ok) << info.path;
    }
  }

  static const dtensor::DTensor& first_of(const dtensor::StateDict& state) {
    return state.tensors.at("optimizer.step");  // every rank holds it
  }

  TempFolder directory_{kMemory};
  std::filesystem::path lived_ = directory_.path() / "lived";
  std::atomic<bool> new_found_{false};
};

TEST_P(CrashPoints, TheNewestCompleteCheckpointIsLoaded) {
  ASSERT_EQ(save_and_die(true), 137) << "the place is not on the way";
  const std::size_t place = order_of(GetParam().place.name);
  for (const int ranks : {kRanks, 2}) {
    restart(ranks, [](const std::optional<LoadReport>& report) {
      ASSERT_TRUE(report.has_value());
      EXPECT_GE(report->step, 2);
    });
    if (place >= order_of("after_votes")) {
      EXPECT_TRUE(new_found_) << "all ranks had voted";
    }
    if (place <= order_of("vote_unnamed")) {
      EXPECT_FALSE(new_found_) << "a rank had not voted";
    }
  }
}

TEST_P(CrashPoints, ACrashInTheFirstSaveLeavesNothingOrAllOfIt) {
  if (GetParam().overwrite || GetParam().place.scope == CrashScope::retention) {
    return;  // not on the way of a first save
  }
  ASSERT_EQ(save_and_die(false), 137);
  restart(1, [](const std::optional<LoadReport>& report) {
    if (report) {
      EXPECT_EQ(report->step, 3);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Places, CrashPoints, ::testing::ValuesIn(all_crashes()));

TEST(CrashPoint, AnUnknownPlaceIsRefused) {
  for (const char* text : {"nowhere", "before_vote:", "before_vote:x", "before_vote:-1", ""}) {
    ::setenv("SHERD_CRASH_POINT", text, 1);
    EXPECT_THAT([] { check_crash_point(); },
                ThrowsMessage<ConfigError>(HasSubstr("is no place or place:rank")))
        << text;
  }
  ::setenv("SHERD_CRASH_POINT", "before_vote:1", 1);
  EXPECT_NO_THROW(check_crash_point());
  ::unsetenv("SHERD_CRASH_POINT");
}

TEST(LiveWriter, ItsFolderIsLeftAloneUntilItIsKilled) {
  const TempFolder directory;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SHERD_TEST_WRITE_BYTES_PER_SECOND", "5000", 1);  // a minute's work
    on_ranks(1, 1, [&](comm::MeshComms& comms) {
      Checkpointer checkpointer(comms, {.directory = directory.path()});
      const dtensor::StateDict state =
          make_state(comm::Ranks{comms.world.get(), &comms.mesh}, Cut::even);
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
      dtensor::StateDict state = make_state(comm::Ranks{comms.world.get(), &comms.mesh}, Cut::even);
      EXPECT_FALSE(checkpointer.load_latest(state, kAnyRanks).has_value());
    });
  };
  EXPECT_THAT(load, ::testing::ThrowsMessage<ConfigError>(::testing::HasSubstr(
                        "is being written by process " + std::to_string(child))));
  EXPECT_EQ(in_flight().size(), 1U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  load();
  EXPECT_TRUE(in_flight().empty());
}

}  // namespace
}  // namespace sherd::io::test
