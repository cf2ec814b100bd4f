#include <gmock/gmock.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "io/commit/commit.hpp"
#include "io/disk/file_ops.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/fault_file_system.hpp"

namespace sherd::io::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  bool last_rank() const { return ranks_.rank() == ranks_.size() - 1; }
  std::filesystem::path step(int number) const { return directory_.path() / step_name(number); }
  void on_rank_zero(const std::function<void()>& work) {
    comms_.world->barrier();
    if (ranks_.rank() == 0) {
      work();
    }
    comms_.world->barrier();
  }
  /// A failed save leaves the last good one and the next save works.
  void expect_recovery(Checkpointer& checkpointer) {
    faults_->heal();
    dtensor::StateDict loaded = make_state(ranks_, Cut::even);
    const auto report = checkpointer.load_latest(loaded);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->step, 1);
    expect_filled(loaded, 1);
    fill(loaded, 3);
    checkpointer.save_async(3, loaded).wait();
    EXPECT_TRUE(verify_checkpoint(step(3)).ok);
  }

  comm::MeshComms comms_ = comm::make_mesh_comms();
  comm::Ranks ranks_{comms_.world.get(), &comms_.mesh};
  SharedDirectory directory_{comms_};
  std::shared_ptr<FaultFileSystem> faults_ = std::make_shared<FaultFileSystem>();
};

TEST_F(Faults, AFailureOfOneRankIsAFailureOnAll) {
  for (const int number : {1, 2, 3}) {
    for (const int error : {EIO, ENOSPC}) {
      Checkpointer checkpointer(comms_, {.directory = directory_.path(), .overwrite = true},
                                faults_);
      dtensor::StateDict state = make_state(ranks_, Cut::even);
      fill(state, 1);
      checkpointer.save_async(1, state).wait();
      fill(state, 2);
      const SaveTicket ticket = [&] {
        if (last_rank()) {
          faults_->restart_counting();
          faults_->write_error = error;
          // Rank 0's first write marks the folder as its own; the background's come after it.
          faults_->fail_write_number = ranks_.rank() == 0 ? number + 1 : number;
        }
        return checkpointer.save_async(2, state);
      }();
      try {
        ticket.wait();
        ADD_FAILURE() << "no failure for write " << number;
      } catch (const IoError& failure) {
        EXPECT_THAT(failure.what(), HasSubstr(error == EIO ? "Input/output" : "No space left"));
        if (!last_rank()) {
          EXPECT_THAT(failure.what(),
                      HasSubstr("rank " + std::to_string(ranks_.size() - 1) + " could not save"));
        }
      }
      EXPECT_EQ(ticket.phase(), SavePhase::failed);
      EXPECT_NO_THROW(checkpointer.poll()) << "wait() has delivered it";
      EXPECT_FALSE(std::filesystem::exists(step(2)));
      expect_recovery(checkpointer);
      on_rank_zero([&] { std::filesystem::remove_all(step(3)); });
    }
  }
}

TEST_F(Faults, AnUnseenFailureIsDeliveredByPollOnceAndByTheNextSaveOnAllRanks) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path()}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 1);
  checkpointer.save_async(1, state).wait();
  faults_->sync_error = EIO;
  if (ranks_.rank() == 0) {  // whose main thread syncs the directory of the new folder
    faults_->sync_error = 0;
    faults_->fail_open_of = "node-00000.h5";
  }
  const SaveTicket ticket = checkpointer.save_async(2, state);
  while (ticket.phase() != SavePhase::failed) {
    std::this_thread::yield();
  }
  faults_->sync_error = 0;
  if (ranks_.rank() == 0) {
    EXPECT_THROW(checkpointer.poll(), IoError);
    EXPECT_NO_THROW(checkpointer.poll());
  }
  if (ranks_.size() > 1) {
    EXPECT_THROW((void)checkpointer.save_async(3, state), IoError);
  }
  expect_recovery(checkpointer);
}

TEST_F(Faults, ShortAndRefusedWritesAreNoFailures) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path()}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  int number = 1;
  for (; number <= 12; ++number) {
    faults_->restart_counting();
    faults_->short_write_number = number;
    faults_->refuse_direct_writes = number % 4 == 3;
    faults_->allocate_error = number % 2 == 0 ? EOPNOTSUPP : 0;
    fill(state, static_cast<std::uint64_t>(number));
    checkpointer.save_async(number, state).wait();
    EXPECT_THAT(verify_checkpoint(step(number)).problems, ElementsAre());
  }
  dtensor::StateDict loaded = make_state(ranks_, Cut::even);
  ASSERT_TRUE(checkpointer.load_latest(loaded));
  expect_filled(loaded, static_cast<std::uint64_t>(number - 1));
}

TEST_F(Faults, AFullDiskIsNoticedBeforeDataIsWritten) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path()}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 1);
  checkpointer.save_async(1, state).wait();
  faults_->allocate_error = ENOSPC;
  EXPECT_THROW(checkpointer.save_async(2, state).wait(), IoError);
  expect_recovery(checkpointer);
}

TEST_F(Faults, ACommitThatCannotRenameFailsOnAllRanks) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path()}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 1);
  checkpointer.save_async(1, state).wait();
  faults_->fail_rename_to = "/step-00000002";
  EXPECT_THROW(checkpointer.save_async(2, state).wait(), IoError);
  expect_recovery(checkpointer);
}

using Damage = std::function<void(const std::filesystem::path&)>;

/// Ways a checkpoint folder goes bad.
std::vector<Damage> all_damages() {
  return {
      [](const auto& folder) {  // a flipped bit in the data
        const Manifest manifest = read_manifest(folder / "COMMITTED.json");
        const PieceRecord& piece = manifest.tensors.front().pieces.back();
        std::fstream file(folder / manifest.files[piece.file].name,
                          std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(piece.file_offset));
        const char byte = static_cast<char>(file.get() ^ 4);
        file.seekp(static_cast<std::streamoff>(piece.file_offset));
        file.put(byte);
      },
      [](const auto& folder) {
        const auto file = folder / "shards/node-00000.h5";
        std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
      },
      [](const auto& folder) { std::filesystem::resize_file(folder / "shards/node-00000.h5", 0); },
      [](const auto& folder) { std::filesystem::remove(folder / "shards/node-00000.h5"); },
      [](const auto& folder) { std::filesystem::remove(folder / "index.h5"); },
      [](const auto& folder) {
        std::filesystem::resize_file(folder / "COMMITTED.json",
                                     std::filesystem::file_size(folder / "COMMITTED.json") / 2);
      },
      [](const auto& folder) { std::filesystem::resize_file(folder / "COMMITTED.json", 0); }};
}

TEST_F(Faults, ADamagedCheckpointIsSetAsideAndAnOlderOneLoaded) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path(), .overwrite = true}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  for (const Damage& damage : all_damages()) {
    for (const int number : {1, 2}) {
      fill(state, static_cast<std::uint64_t>(number));
      checkpointer.save_async(number, state).wait();
    }
    on_rank_zero([&] { damage(step(2)); });
    dtensor::StateDict loaded = make_state(ranks_, Cut::last_is_empty);
    const auto report = checkpointer.load_latest(loaded);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->step, 1);
    EXPECT_THAT(report->notes, ElementsAre(AllOf(HasSubstr("step-00000002"), HasSubstr(".bad-"))));
    expect_filled(loaded, 1);
    EXPECT_FALSE(std::filesystem::exists(step(2)));
  }
}

TEST_F(Faults, WhenAllAreDamagedLoadingThrowsAndSetsNoEntries) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path()}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 1);
  checkpointer.save_async(1, state).wait();
  on_rank_zero([&] {
    const Manifest manifest = read_manifest(step(1) / "COMMITTED.json");
    const PieceRecord& piece = manifest.tensors.back().pieces.back();
    std::fstream file(step(1) / manifest.files[piece.file].name,
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(piece.file_offset));
    file.put(static_cast<char>(static_cast<unsigned char>(pattern(1, 0)) ^ 0xFF));
  });
  // Tensors may be overwritten by now; what says how far a run has come must not be.
  state.common["step"] = "8";
  state.per_rank["random"] = {};
  const dtensor::StateDict before = state;
  EXPECT_THROW((void)checkpointer.load(step(1), state), IoError);
  EXPECT_THROW((void)checkpointer.load_latest(state), IoError);
  EXPECT_EQ(state.common, before.common);
  EXPECT_EQ(state.per_rank, before.per_rank);
}

TEST_F(Faults, AFullyVotedFolderIsCommittedAtLoadAndAnIncompleteOneRemoved) {
  Checkpointer checkpointer(comms_, {.directory = directory_.path()}, faults_);
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 1);
  checkpointer.save_async(1, state).wait();
  for (const bool complete : {true, false}) {
    fill(state, 2);
    faults_->fail_rename_to = "/step-00000002";
    const SaveTicket ticket = checkpointer.save_async(2, state);
    EXPECT_THROW(ticket.wait(), IoError);
    faults_->fail_rename_to.clear();
    on_rank_zero([&] {  // as a kill before the commit would leave it
      const auto folder = scan_folders(directory_.path()).back().path;
      ASSERT_TRUE(std::filesystem::remove(folder / "votes" / "FAILED"));
      ASSERT_TRUE(std::filesystem::remove(folder / "COMMITTED.json"));
      if (!complete) {
        ASSERT_TRUE(std::filesystem::remove(vote_path(folder, ranks_.size() - 1)));
      }
    });
    dtensor::StateDict loaded = make_state(ranks_, Cut::even);
    const auto report = checkpointer.load_latest(loaded);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->step, complete ? 2 : 1);
    EXPECT_THAT(report->notes,
                ElementsAre(HasSubstr(complete ? "committed as 'step-00000002'" : "removed")));
    expect_filled(loaded, complete ? 2 : 1);
    EXPECT_EQ(scan_folders(directory_.path()).size(), complete ? 2U : 1U);
    on_rank_zero([&] { std::filesystem::remove_all(step(2)); });
  }
}

}  // namespace
}  // namespace sherd::io::test
