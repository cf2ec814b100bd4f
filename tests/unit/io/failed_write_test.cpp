// Writes that the kernel refuses with a signal: errors of the write, not of the process.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "io/disk/write_signals.hpp"
#include "sherd/base/error.hpp"
#include "support/checkpoint_world.hpp"
#include "support/file_size_limit.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {
namespace {

using sherd::test::FileSizeLimit;
using ::testing::HasSubstr;

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    names.insert(item.path().filename().string().substr(0, 5));
  }
  return names;
}

bool lets_through(int number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, number) == 0;
}

TEST(WriteSignals, AWriteFailsAndTheSignalIsGone) {
  std::signal(SIGPIPE, SIG_DFL);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  {
    const WriteSignals held;
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    errno = 77;
  }
  EXPECT_EQ(errno, 77);
  ::close(ends[1]);
  EXPECT_TRUE(lets_through(SIGPIPE) && lets_through(SIGXFSZ)) << "as before";
  {
    const WriteSignals outer;
    { const WriteSignals inner; }
    EXPECT_FALSE(lets_through(SIGPIPE)) << "the inner one leaves what the outer one set";
  }
}

class FailedWrites : public ::testing::TestWithParam<WriteBackend> {};

/// Below a page not even the structure fits; with more the data does not.
TEST_P(FailedWrites, ASaveBeyondTheLimitOfFileSizesIsAFailedSave) {
  const TempFolder directory;
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_state(ranks, Cut::even);
    Checkpointer checkpointer(comms, {.directory = directory.path(), .backend = GetParam()});
    fill(state, 1);
    checkpointer.save_async(1, state).wait();
    for (const rlim_t bytes : {4096U, 9000U}) {
      std::optional<FileSizeLimit> limit;
      if (ranks.rank() == 0) {
        limit.emplace(bytes);
      }
      comms.world->barrier();
      const std::string message =
          message_of<IoError>([&] { checkpointer.save_async(2, state).wait(); });
      EXPECT_THAT(message, HasSubstr("File too large"));
      EXPECT_THAT(message, HasSubstr("ulimit -f"));
      comms.world->barrier();
    }
    checkpointer.save_async(2, state).wait();
  });
  EXPECT_EQ(names_in(directory.path()), (std::set<std::string>{"LATES", "step-"}));
}

INSTANTIATE_TEST_SUITE_P(All, FailedWrites,
                         ::testing::Values(WriteBackend::pwrite, WriteBackend::automatic));

}  // namespace
}  // namespace sherd::io::test
