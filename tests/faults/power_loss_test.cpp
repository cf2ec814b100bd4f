#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include "faults/disk_model.hpp"
#include "faults/trial_state.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/inproc_ranks.hpp"
#include "support/sanitizer.hpp"
#include "support/temp_folder.hpp"

/// Saves of several processes are recorded system call by system call. Then the world ends after
/// each of them, by a kill or by a power loss, and a load must find the newest checkpoint that had
/// been reported committed, or a newer complete one, bit for bit.
namespace sherd::faults {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 3;
constexpr std::uint64_t kSeed = 7;

struct Save {
  std::int64_t step = 0;
  std::uint64_t seed = 0;
  friend auto operator<=>(const Save&, const Save&) = default;
};

/// What the program had said by some moment.
struct Said {
  std::vector<Save> begun;
  std::optional<std::size_t> committed;  ///< the last of `begun` that was reported committed

  void hear(const std::string& note) {
    std::istringstream words(note);
    std::string verb;
    Save save;
    words >> verb >> save.step >> save.seed;
    if (verb == "begun") {
      begun.push_back(save);
    } else {
      const auto at = std::find(begun.begin(), begun.end(), save) - begun.begin();
      committed = std::max(committed.value_or(0), static_cast<std::size_t>(at));
    }
  }
};

class PowerLoss : public ::testing::Test {
 protected:
  /// Adds what a program does to the operations. Returns its exit code.
  int run_recorded(const std::string& arguments) const {
    // The sanitizers find leaks in MPI itself: there, ranks are threads.
    const std::string number = std::to_string(kRanks);
    const std::string launcher =
        sherd::testing::kSanitized ? "" : SHERD_TEST_MPIEXEC " -n " + number;
    const std::string threads = sherd::testing::kSanitized ? " threads:" + number : "";
    const std::string command = "SHERD_IO=pwrite SHERD_SHIM_ROOT=" + recorded_.string() +
                                " SHERD_SHIM_LOG=" + log_.string() + " " + launcher +
                                " " SHERD_TEST_TRIAL " " + recorded_.string() + threads +
                                " keep:2 overwrite " + arguments + " > /dev/null 2>&1";
    return std::system(command.c_str());
  }

  void begin_recording() {
    fs::create_directories(recorded_);
    struct stat info {};
    ASSERT_EQ(::stat(recorded_.c_str(), &info), 0);
    root_inode_ = info.st_ino;
  }

  /// Checks the invariant on a directory that looks like the image.
  void expect_good(const DiskImage& image, const Said& said, int ranks, const std::string& when) {
    const fs::path folder = directory_.path() / "revived";
    fs::remove_all(folder);
    write_image(image, folder);
    std::optional<Save> found;
    std::string error;
    io::test::on_ranks(1, ranks, [&](comm::MeshComms& comms) {
      const comm::Ranks world{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = trial_state(world);
      try {
        io::Checkpointer checkpointer(comms, {.directory = folder});
        if (const auto report = checkpointer.load_latest(state, io::test::kAnyRanks)) {
          const std::uint64_t seed = seed_of(state);
          if (world.rank() == 0) {
            found = Save{report->step, seed};
          }
        }
      } catch (const std::exception& failure) {
        if (world.rank() == 0) {
          error = failure.what();
        }
      }
    });
    ++loads_;
    judge(found, error, said, when);
  }

  static void judge(const std::optional<Save>& found, const std::string& error, const Said& said,
                    const std::string& when) {
    if (!said.committed) {
      const bool complete = found && !said.begun.empty() && *found == said.begun.front();
      EXPECT_TRUE(error.empty() && (!found || complete)) << when << ": " << error;
      return;
    }
    ASSERT_TRUE(found.has_value()) << when << ": " << error;
    const auto at = static_cast<std::size_t>(
        std::find(said.begun.begin(), said.begun.end(), *found) - said.begun.begin());
    ASSERT_LT(at, said.begun.size()) << when << ": loaded what nobody saved";
    EXPECT_GE(at, *said.committed) << when << ": step " << found->step << ", seed " << found->seed;
  }

  /// The same disk, and the same said, is looked at once.
  void check(const DiskImage& image, const std::string& when) {
    std::string text = std::to_string(said_.committed.value_or(99));
    for (const auto& [path, data] : image) {
      text.append(path).append("\n").append(data).append("\n");
    }
    if (seen_.insert(std::hash<std::string>{}(text)).second) {
      expect_good(image, said_, seen_.size() % 2 == 0 ? kRanks : 2, when);
    }
  }

  void end_the_world_after_each_operation() {
    const std::vector<LoggedOperation> operations = read_log(log_);
    ASSERT_GT(operations.size(), 100U);
    DiskModel disk(root_inode_);
    std::mt19937_64 random(kSeed);
    for (std::size_t i = 0; i < operations.size() && !HasFailure(); ++i) {
      const LoggedOperation& operation = operations[i];
      if (operation.header.operation == Operation::note) {
        said_.hear(operation.path);
      }
      disk.apply(operation);
      if (sherd::testing::kSanitized && i % 5 != 0) {
        continue;
      }
      const std::string when = std::to_string(i) + " operations, the last on '" + operation.path +
                               "' '" + operation.other + "'";
      check(disk.everything(), "killed after " + when);
      check(disk.synced(), "power lost after " + when);
      check(disk.partly_synced(random), "power lost in part after " + when);
    }
    std::printf("%zu operations, %d different disks loaded\n", operations.size(), loads_);
  }

  io::test::TempFolder directory_{io::test::kMemory};
  fs::path recorded_ = directory_.path() / "recorded";
  fs::path log_ = directory_.path() / "log";
  std::uint64_t root_inode_ = 0;
  int loads_ = 0;
  Said said_;
  std::set<std::size_t> seen_;
};

class PowerLossInLayout : public PowerLoss, public ::testing::WithParamInterface<const char*> {};

// First save, second save, one in the place of the second, one that makes the first go.
TEST_P(PowerLossInLayout, AnyMomentLeavesTheNewestReportedOrANewerOne) {
  ASSERT_NO_FATAL_FAILURE(begin_recording());
  ASSERT_EQ(
      run_recorded("layout:" + std::string(GetParam()) + " save:1:1 save:2:2 save:2:12 save:3:3"),
      0);
  end_the_world_after_each_operation();
  EXPECT_EQ(said_.begun.size(), 4U);
  EXPECT_EQ(said_.committed, 3U);
}

std::vector<const char*> layouts() {
  return sherd::testing::kSanitized ? std::vector{"per_node"}
                                    : std::vector{"per_node", "per_rank", "single_file"};
}

INSTANTIATE_TEST_SUITE_P(Layouts, PowerLossInLayout, ::testing::ValuesIn(layouts()));

// What a restart does to a directory can be interrupted as well: here it commits a folder that all
// had voted for, in the place of an older one of that step.
TEST_F(PowerLoss, ARestartIsAsSafe) {
  ASSERT_NO_FATAL_FAILURE(begin_recording());
  EXPECT_NE(run_recorded("kill_all save:1:1 save:2:2 crash:before_rename:0 save:2:12"), 0);
  ASSERT_EQ(run_recorded("load save:3:3"), 0);
  end_the_world_after_each_operation();
  EXPECT_EQ(said_.begun.size(), 4U);
  EXPECT_EQ(said_.committed, 3U);
}

// The model is only worth something if it finds what is not synced.
TEST(DiskModel, ForgetsWhatWasNotSynced) {
  DiskModel disk(1);
  const auto apply = [&](Operation kind, const std::string& path, std::uint64_t inode,
                         const std::string& data = "", const std::string& other = "") {
    LoggedOperation operation;
    operation.header.operation = kind;
    operation.header.inode = inode;
    operation.path = path;
    operation.other = other;
    operation.data = data;
    disk.apply(operation);
  };
  apply(Operation::create, "a.tmp", 2);
  apply(Operation::write, "", 2, "text");
  EXPECT_EQ(disk.everything(), (DiskImage{{"a.tmp", "text"}}));
  EXPECT_EQ(disk.synced(), DiskImage{});
  apply(Operation::sync, "", 1);
  EXPECT_EQ(disk.synced(), (DiskImage{{"a.tmp", ""}}));
  apply(Operation::sync, "", 2);
  apply(Operation::rename, "a.tmp", 0, "", "a");
  EXPECT_EQ(disk.everything(), (DiskImage{{"a", "text"}}));
  EXPECT_EQ(disk.synced(), (DiskImage{{"a.tmp", "text"}}));
  apply(Operation::mkdir, "folder", 3);
  apply(Operation::create, "folder/b", 4);
  apply(Operation::sync, "", 1);
  EXPECT_EQ(disk.synced(), (DiskImage{{"a", "text"}, {"folder/", ""}}));
  apply(Operation::exchange, "a", 0, "", "folder");
  apply(Operation::unlink, "folder", 0);
  EXPECT_EQ(disk.everything(), (DiskImage{{"a/", ""}, {"a/b", ""}}));
}

}  // namespace
}  // namespace sherd::faults
