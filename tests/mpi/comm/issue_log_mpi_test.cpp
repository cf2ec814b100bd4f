#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/mpi/mpi_api.hpp"
#include "comm/progress/threaded_communicator.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/issue_log.hpp"
#include "sherd/comm/mpi_interop.hpp"

// Ranks that go different ways end with the same message over every backend.

namespace sherd {
namespace {

using comm::Communicator;
using comm::IssueLog;

const std::vector<std::string> kLabels{"barrier(a)", "barrier(b)"};

/// Two barriers of which rank 1 takes the wrong one, and after that the ones that were missed.
void expect_divergence(Communicator& first, Communicator& second) {
  const auto log = make_issue_log(first, kLabels);
  const bool odd = first.rank() == 1;
  std::string message = "nothing was thrown";
  try {
    const comm::ScopedWaitObserver observed(*log);
    log->add(odd ? 1 : 0);
    (odd ? second : first).barrier();
  } catch (const CommError& error) {
    message = error.what();
  }
  MPI_Barrier(MPI_COMM_WORLD);  // what is made up for below would end the others' waits
  (odd ? first : second).barrier();
  EXPECT_THAT(message, testing::HasSubstr("as number 1"));
  EXPECT_THAT(message, testing::HasSubstr("rank 1"));
  EXPECT_THAT(message, testing::HasSubstr("barrier(a)"));
  EXPECT_THAT(message, testing::HasSubstr("barrier(b)"));
  std::vector<char> mine(1000, '\0');
  message.copy(mine.data(), mine.size() - 1);
  std::vector<char> zero = mine;
  first.broadcast(zero.data(), zero.size(), DType::u8, 0).wait();
  EXPECT_STREQ(zero.data(), mine.data());
}

TEST(IssueLogMpi, OverMessagesAllRanksEndWithTheSameMessage) {
  const auto first = comm::make_mpi(MPI_COMM_WORLD);
  const auto second = first->duplicate();
  expect_divergence(*first, *second);
}

TEST(IssueLogMpi, WithAThreadToo) {
  comm::ThreadedCommunicator first(
      std::make_unique<comm::mpi::MpiCommunicator>(comm::mpi::comm_dup(MPI_COMM_WORLD)),
      std::make_shared<comm::ProgressThread>());
  const auto second = first.duplicate();
  expect_divergence(first, *second);
}

TEST(IssueLogMpi, OverSharedMemoryTheWaitsOnABoardEnd) {
  const auto shm = comm::make_shm(MPI_COMM_WORLD);
  const auto log = make_issue_log(*shm, kLabels);
  const auto board = shm->make_epoch_board(2);
  const std::size_t label = shm->rank() == 1 ? 1 : 0;
  std::string message = "nothing was thrown";
  try {
    const comm::ScopedWaitObserver observed(*log);
    log->add(label);
    board->post(label, 1);
    board->wait_all(label, 1, "a barrier");
  } catch (const CommError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, testing::HasSubstr("barrier(b)"));
  shm->barrier();
}

/// Asks rank 1 to come once the wait has been looked into twice.
class AskAfterTwoLooks final : public comm::WaitObserver {
 public:
  explicit AskAfterTwoLooks(IssueLog& log) : log_(log) {}
  void waited(std::chrono::milliseconds time) override {
    log_.waited(time);
    if (++looks_ == 2) {
      MPI_Send(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
  }
  [[nodiscard]] std::string describe() override { return log_.describe(); }

 private:
  IssueLog& log_;
  int looks_ = 0;
};

TEST(IssueLogMpi, ASlowRankIsWaitedFor) {
  const auto comm = comm::make_mpi(MPI_COMM_WORLD);
  const auto log = make_issue_log(*comm, kLabels);
  AskAfterTwoLooks ask(*log);
  const comm::ScopedWaitObserver observed(ask);
  if (comm->rank() == 1) {
    for (int rank = 0; rank < comm->size() - 1; ++rank) {
      MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  log->add(0);
  comm->barrier();
  log->add(1);
  comm->barrier();
  log->check();
  EXPECT_EQ(log->count(), 2U);
}

}  // namespace
}  // namespace sherd
