#include "io/disk/process_identity.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace sherd::io {
namespace {

TEST(ProcessIdentity, KnowsThisProcessAndNoOther) {
  EXPECT_GT(process_start(::getpid()), 0);
  EXPECT_EQ(process_start(::getpid()), process_start(::getpid()));
  EXPECT_EQ(process_start(-1), 0);
}

// A killed writer whose parent has not waited for it is still in the process table.
TEST(ProcessIdentity, CountsAZombieAsDead) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_GT(process_start(child), 0);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(process_start(child), 0);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace sherd::io
