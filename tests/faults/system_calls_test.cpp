#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "faults/fault_shim.hpp"
#include "faults/trial_state.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// Each system call that changes files fails, or ends the process, at every place where a save
/// makes it. The save may fail with one clear error; nothing else may happen.
namespace sherd::faults {
namespace {

namespace fs = std::filesystem;
using io::test::kMemory;
using io::test::on_ranks;

constexpr int kRanks = 2;

enum class Outcome { committed, failed };

struct Case {
  const char* call;
  const char* what;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.call << " " << c.what;
}

class SystemCalls : public ::testing::TestWithParam<Case> {
 protected:
  SystemCalls() {
    ::setenv("SHERD_IO", "pwrite", 1);
    ::sherd_shim_log(directory_.path().c_str(), nullptr);
  }
  ~SystemCalls() override {
    ::sherd_shim_arm(nullptr);
    ::sherd_shim_log(nullptr, nullptr);
    ::unsetenv("SHERD_IO");
  }

  std::string fault(int number) const {
    return std::string(GetParam().call) + ":" + std::to_string(number) + ":" + GetParam().what;
  }

  /// On all ranks: saves step 1, then step 2 with the fault.
  Outcome save_with(const std::string& armed) const {
    std::atomic<int> failed{0};
    std::atomic<int> unclear{0};
    on_ranks(1, kRanks, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      io::Checkpointer checkpointer(comms, {.directory = folder(), .commit_timeout_seconds = 5});
      dtensor::StateDict state = trial_state(ranks);
      set_seed(state, 1);
      checkpointer.save_async(1, state).wait();
      comms.world->barrier();
      if (ranks.rank() == 0) {
        ::sherd_shim_arm(armed.c_str());
      }
      comms.world->barrier();
      set_seed(state, 2);
      try {
        checkpointer.save_async(2, state).wait();
      } catch (const IoError& error) {
        ++failed;
        const std::string text = error.what();
        unclear += text.empty() || text.find('\n') != std::string::npos ? 1 : 0;
      }
      comms.world->barrier();
    });
    EXPECT_EQ(unclear, 0);
    return failed == 0 ? Outcome::committed : Outcome::failed;
  }

  std::int64_t load(int ranks) const {
    std::atomic<std::int64_t> step{0};
    on_ranks(1, ranks, [&](comm::MeshComms& comms) {
      const comm::Ranks world{comms.world.get(), &comms.mesh};
      io::Checkpointer checkpointer(comms, {.directory = folder()});
      dtensor::StateDict state = trial_state(world);
      const auto report = checkpointer.load_latest(state, io::test::kAnyRanks);
      ASSERT_TRUE(report.has_value());
      EXPECT_EQ(seed_of(state), static_cast<std::uint64_t>(report->step));
      step = report->step;
      set_seed(state, 3);
      checkpointer.save_async(3, state).wait();
    });
    EXPECT_TRUE(io::verify_checkpoint(folder() / "step-00000003").ok);
    return step;
  }

  fs::path folder() const { return directory_.path() / "checkpoints"; }

  io::test::TempFolder directory_{kMemory};
};

TEST_P(SystemCalls, ASaveFailsClearlyOrNotAtAll) {
  const bool kills = std::string(GetParam().what) == "kill";
  int number = 1;
  for (bool reached = true; reached && !HasFailure(); ++number) {
    Outcome outcome = Outcome::failed;
    if (kills) {
      const pid_t child = ::fork();
      if (child == 0) {
        (void)save_with(fault(number));
        ::_exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      reached = WIFSIGNALED(status);
      outcome = reached ? Outcome::failed : Outcome::committed;
    } else {
      outcome = save_with(fault(number));
      reached = ::sherd_shim_fired() != 0;
      ::sherd_shim_arm(nullptr);
    }
    const std::int64_t found = load(number % 2 == 0 ? kRanks : 3);
    EXPECT_GE(found, outcome == Outcome::committed ? 2 : 1) << fault(number);
    fs::remove_all(folder());
  }
  EXPECT_GT(number, 2) << "the call is never made";
  std::printf("%s: %d places\n", GetParam().call, number - 2);
}

INSTANTIATE_TEST_SUITE_P(Faults, SystemCalls,
                         ::testing::Values(Case{"pwrite", "EIO"}, Case{"pwrite", "ENOSPC"},
                                           Case{"pwrite", "short"}, Case{"fsync", "EIO"},
                                           Case{"rename", "EIO"}, Case{"open", "ENOSPC"},
                                           Case{"fallocate", "ENOSPC"}, Case{"mkdir", "ENOSPC"},
                                           Case{"any", "kill"}));

}  // namespace
}  // namespace sherd::faults
