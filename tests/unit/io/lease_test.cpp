#include "io/commit/lease.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "sherd/base/error.hpp"
#include "support/temp_folder.hpp"

/// One writer of a folder: who holds it, who may take it over, and when.
namespace sherd::io {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr Lease::Timing kQuick{milliseconds(20), milliseconds(400)};

class LeaseTest : public ::testing::Test {
 protected:
  std::filesystem::path mark() const { return owner_mark_path(directory_.path()); }

  /// A mark of a process that nobody here can ask.
  void leave_mark(const char* host, const char* job = "", int restart = 0) const {
    const std::filesystem::path aside = directory_.path() / "mark.tmp";
    std::ofstream(aside) << nlohmann::json{{"uuid", "00112233445566778899aabbccddeeff"},
                                           {"host", host},
                                           {"boot", "another"},
                                           {"pid_namespace", "pid:[1]"},
                                           {"pid", 17},
                                           {"started", 4},
                                           {"since", "2026-01-01 00:00:00 UTC"},
                                           {"slurm_job", job},
                                           {"slurm_restart", restart}};
    std::filesystem::rename(aside, mark());
  }

  test::TempFolder directory_{test::kMemory};
};

TEST_F(LeaseTest, IsOneWithinAProcessAndLeavesNothing) {
  {
    const auto first = Lease::take(directory_.path());
    const auto second = Lease::take(directory_.path() / ".");
    EXPECT_EQ(first, second);
    EXPECT_TRUE(std::filesystem::exists(mark()));
  }
  EXPECT_FALSE(std::filesystem::exists(mark()));
}

TEST_F(LeaseTest, OfALiveProcessIsRefusedAndOfADeadOneTakenOver) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lease = Lease::take(directory_.path());
    ::pause();
    ::_exit(0);
  }
  while (!std::filesystem::exists(mark()) || std::filesystem::file_size(mark()) == 0) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  }
  EXPECT_THAT([&] { (void)Lease::take(directory_.path()); },
              ThrowsMessage<ConfigError>(HasSubstr("process " + std::to_string(child))));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto lease = Lease::take(directory_.path());
  EXPECT_EQ(look_at_mark(directory_.path())->mark.uuid, lease->uuid());
}

TEST_F(LeaseTest, OfAnotherHostCountsAsAliveWhileItIsRenewed) {
  leave_mark("elsewhere");
  std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      leave_mark("elsewhere");
    }
  });
  EXPECT_THAT([&] { (void)Lease::take(directory_.path(), kQuick); },
              ThrowsMessage<ConfigError>(HasSubstr("host elsewhere since 2026-01-01")));
}

TEST_F(LeaseTest, OfAnotherHostIsTakenOverOnceNobodyRenewsIt) {
  leave_mark("elsewhere");
  const auto lease = Lease::take(directory_.path(), kQuick);
  EXPECT_EQ(look_at_mark(directory_.path())->mark.uuid, lease->uuid());
}

// Two machines of one name (containers): the boot tells them apart.
TEST_F(LeaseTest, OfAHostOfTheSameNameIsWatchedToo) {
  leave_mark(make_owner_mark().process.host.c_str());
  const auto start = std::chrono::steady_clock::now();
  const auto lease = Lease::take(directory_.path(), kQuick);
  EXPECT_GE(std::chrono::steady_clock::now() - start, kQuick.patience);
}

TEST_F(LeaseTest, OfTheSameSlurmJobBeforeItsRestartIsTakenOverAtOnce) {
  leave_mark("elsewhere", "42", 0);
  ::setenv("SLURM_JOB_ID", "42", 1);
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  const auto start = std::chrono::steady_clock::now();
  const auto lease = Lease::take(directory_.path(), {milliseconds(20), std::chrono::hours(1)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_RESTART_COUNT");
}

TEST_F(LeaseTest, IsRenewedAndMadeAnewWhenSomebodyRemovesIt) {
  const auto lease = Lease::take(directory_.path(), kQuick);
  const std::string first = look_at_mark(directory_.path())->stamp;
  while (look_at_mark(directory_.path())->stamp == first) {
    std::this_thread::yield();
  }
  std::filesystem::remove(mark());
  while (!std::filesystem::exists(mark()) || std::filesystem::file_size(mark()) == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(look_at_mark(directory_.path())->mark.uuid, lease->uuid());
  EXPECT_NO_THROW(lease->require_held());
}

TEST_F(LeaseTest, ThatAnotherHasTakenOverIsLost) {
  const auto lease = Lease::take(directory_.path(), kQuick);
  leave_mark("elsewhere");
  const auto lost = [&] {
    try {
      lease->require_held();
      return false;
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), HasSubstr("was taken over by process 17 on host elsewhere"));
      return true;
    }
  };
  while (!lost()) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace sherd::io
