#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/comm/mpi_interop.hpp"

// A rank that leaves by an exception destroys its communicators on the way. Nothing of that may
// wait for the other ranks, and they must not wait for it.

namespace sherd {
namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// What comes out of `body`, which rank 1 is expected to leave by a problem of its own.
template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class Wait>
void expect_told(const Wait& wait) {
  const std::string message = message_of([&] {
    const auto comm = comm::make_shm(MPI_COMM_WORLD);
    const auto region = comm->allocate_shared(10000);
    const auto board = comm->make_epoch_board(1);
    if (comm->rank() == 1) {
      throw std::runtime_error("a problem of its own");
    }
    wait(*comm, *board);
  });
  EXPECT_THAT(message,
              testing::HasSubstr(world_rank() == 1 ? "a problem of its own" : "rank 1 has failed"));
}

TEST(RankFailure, OthersInACollectiveAreTold) {
  expect_told([](comm::Communicator& comm, comm::EpochBoard&) {
    std::vector<float> data(100000, 1.0F);
    comm.all_reduce(data.data(), data.data(), data.size(), DType::f32, comm::ReduceOp::sum).wait();
  });
}

TEST(RankFailure, OthersWaitingForAnEpochAreTold) {
  expect_told([](comm::Communicator&, comm::EpochBoard& board) {
    board.post(0, 1);
    board.wait_all(0, 1, "the gather of layers.3");
  });
}

/// Over MPI nobody is told (the top level ends the launch), but the rank itself gets out although
/// its operation can never be complete.
TEST(RankFailure, AnUnfinishedOperationDoesNotHoldTheExceptionBack) {
  std::vector<float> data(100000, 1.0F);
  const std::string message = message_of([&] {
    const auto comm = comm::make_mpi(MPI_COMM_WORLD);
    if (comm->rank() == 1) {
      const auto work = comm->all_gather(data.data(), data.data(), 1, DType::f32);
      throw std::runtime_error("a problem of its own");
    }
    throw std::runtime_error("the others never come");
  });
  EXPECT_EQ(message, world_rank() == 1 ? "a problem of its own" : "the others never come");
}

}  // namespace
}  // namespace sherd
