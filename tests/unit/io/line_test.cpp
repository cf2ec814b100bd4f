#include <gmock/gmock.h>

#include <vector>

#include "io/commit/committed.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// Which checkpoint is the newest after a run has gone back, and what is left where none is good.
namespace sherd::io::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Steps = std::vector<std::int64_t>;

class Line : public ::testing::Test {
 protected:
  fs::path step(std::int64_t number) const {
    char name[32] = {};
    std::snprintf(name, sizeof name, "step-%08d", static_cast<int>(number));
    return directory_.path() / name;
  }

  /// A run that loads `from` (0: nothing; -1: the newest) and saves `steps`.
  void run(std::int64_t from, const Steps& steps, int keep_last = 0) {
    on_ranks(1, 2, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory_.path(), .keep_last = keep_last});
      dtensor::StateDict state = make_state(ranks, Cut::even);
      if (from > 0) {
        (void)checkpointer.load(step(from), state);
      } else if (from < 0) {
        (void)checkpointer.load_latest(state);
      }
      for (const std::int64_t number : steps) {
        fill(state, static_cast<std::uint64_t>(number));
        checkpointer.save_async(number, state).wait();
      }
    });
  }

  std::int64_t newest(std::vector<std::string>* notes = nullptr) {
    std::int64_t found = -1;
    on_ranks(1, 2, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      dtensor::StateDict state = make_state(ranks, Cut::even);
      const auto report = checkpointer.load_latest(state);
      if (report && ranks.rank() == 0) {
        found = report->step;
        if (notes != nullptr) {
          *notes = report->notes;
        }
      }
    });
    return found;
  }

  Steps steps_here() const {
    Steps steps;
    for (const CheckpointInfo& info : list_checkpoints(directory_.path())) {
      steps.push_back(info.step);
    }
    return steps;
  }

  TempFolder directory_{kMemory};
};

TEST_F(Line, GoingBackKeepsWhatIsSavedThenAndNeverTakesWhatWasGivenUp) {
  run(0, {10, 20, 30, 40, 50});
  run(30, {31, 32, 33}, 3);
  EXPECT_THAT(steps_here(), ElementsAre(31, 32, 33, 40, 50));
  std::vector<std::string> notes;
  EXPECT_EQ(newest(&notes), 33);
  EXPECT_THAT(notes, Contains(HasSubstr("'step-00000050' was given up")));
  EXPECT_EQ(resolve_checkpoint(directory_.path()), step(33));
  run(-1, {34}, 3);
  EXPECT_THAT(steps_here(), ElementsAre(32, 33, 34, 40, 50));
}

TEST_F(Line, AStepThatWasGivenUpIsNotReplaced) {
  run(0, {10, 20, 30});
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory_.path()});
    dtensor::StateDict state = make_state(ranks, Cut::even);
    (void)checkpointer.load(step(10), state);
    EXPECT_THROW((void)checkpointer.save_async(20, state), IoError);
  });
  EXPECT_TRUE(verify_checkpoint(step(20)).ok);
}

TEST_F(Line, RequeuedRunsAreOneLine) {
  run(0, {1, 2}, 3);
  run(-1, {3, 4}, 3);
  run(-1, {5}, 3);
  EXPECT_THAT(steps_here(), ElementsAre(3, 4, 5));
  EXPECT_EQ(newest(), 5);
}

TEST_F(Line, CopiesAndRenamedFoldersAreNotTheNewest) {
  run(0, {1, 2});
  fs::copy(step(1), step(9), fs::copy_options::recursive);
  std::vector<std::string> notes;
  EXPECT_EQ(newest(&notes), 2);
  EXPECT_THAT(notes, Contains(HasSubstr("'step-00000009' holds step 1 (a copy, or renamed)")));
  EXPECT_FALSE(verify_checkpoint(step(9)).ok);
  const auto folders = survey_checkpoints(directory_.path());
  EXPECT_EQ(folders.back().state, FolderState::renamed);
  EXPECT_TRUE(fs::exists(step(9)));
}

TEST_F(Line, WhereOnlyRemainsLieNothingStartsAnew) {
  run(0, {1});
  fs::rename(step(1), directory_.path() / ".bad-step-00000001");
  EXPECT_THAT([&] { (void)newest(); },
              ThrowsMessage<IoError>(HasSubstr("what is left of some: .bad-step-00000001")));
  fs::rename(directory_.path() / ".bad-step-00000001", step(7));
  EXPECT_THAT([&] { (void)newest(); },
              ThrowsMessage<IoError>(HasSubstr("what is left of some: step-00000007")));
  fs::rename(step(7), step(1));
  EXPECT_EQ(newest(), 1);
}

TEST_F(Line, AppearedMeanwhileIsNotReplaced) {
  run(0, {5});
  const fs::path kept = directory_.path() / "kept";
  fs::rename(step(5), kept);
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(
        comms, {.directory = directory_.path(), .commit_timeout_seconds = 20, .overwrite = true});
    dtensor::StateDict state = make_state(ranks, Cut::even);
    ::setenv("SHERD_TEST_WRITE_BYTES_PER_SECOND", "400000", 1);
    const SaveTicket ticket = checkpointer.save_async(5, state);
    if (ranks.rank() == 0) {
      fs::rename(kept, step(5));
    }
    EXPECT_THROW(ticket.wait(), IoError);
  });
  ::unsetenv("SHERD_TEST_WRITE_BYTES_PER_SECOND");
  EXPECT_TRUE(verify_checkpoint(step(5)).ok);
}

}  // namespace
}  // namespace sherd::io::test
