#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <thread>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/comm/mpi_interop.hpp"

// Run with SHERD_TEST_NODES=2: the ranks of this machine are cut into two "nodes".

namespace sherd {
namespace {

struct TwoNodes : testing::Test {
  TwoNodes() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  int rank = 0;
  int size = 0;
};

TEST_F(TwoNodes, UnequalNodesAreRefusedOnAllRanks) {
  if (size % 2 == 1) {
    try {
      static_cast<void>(comm::make_mesh_comms());
      FAIL() << "nothing was thrown";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("a mesh needs equal numbers"));
    }
  }
}

TEST_F(TwoNodes, UnequalNodesOfAProgramsOwnCommunicatorAreANodeARank) {
  const auto comms = comm::make_mesh_comms(MPI_COMM_WORLD);
  EXPECT_EQ(comms.mesh.nodes(), size % 2 == 1 ? size : 2);
  EXPECT_EQ(comms.world->size(), size);
  EXPECT_EQ(comms.local->size() * comms.cross->size(), size);
}

TEST_F(TwoNodes, WorldIsNumberedByPiece) {
  if (size % 2 == 0) {
    const auto comms = comm::make_mesh_comms();
    const int half = size / 2;
    EXPECT_EQ(comms.mesh.nodes(), 2);
    EXPECT_EQ(comms.world->backend(), "mpi");
    EXPECT_EQ(comms.world->rank(), (rank % half) * 2 + rank / half);
    EXPECT_EQ(comms.local->rank(), rank % half);
    EXPECT_EQ(comms.local->size(), half);
    EXPECT_EQ(comms.local->backend(), half == 1 ? "self" : "shm");
    EXPECT_EQ(comms.cross->rank(), rank / half);
    EXPECT_EQ(comms.cross->size(), 2);
  }
}

void expect_two_steps_make_the_whole(int rank, int size, comm::Progress progress) {
  const auto comms = comm::make_mesh_comms("auto", progress);
  const std::size_t count = 37;
  const auto piece = static_cast<std::size_t>(comms.mesh.piece(rank));
  const auto block = static_cast<std::size_t>(comms.local->rank()) * 2 * count;
  std::vector<int> at_once(count * static_cast<std::size_t>(size));
  std::vector<int> in_steps(at_once.size());
  for (std::size_t i = 0; i < count; ++i) {
    in_steps[piece * count + i] = at_once[piece * count + i] = static_cast<int>(piece * 1000 + i);
  }
  comms.world->all_gather(&at_once[piece * count], at_once.data(), count, DType::i32).wait();
  comms.cross->all_gather(&in_steps[piece * count], &in_steps[block], count, DType::i32).wait();
  comms.local->all_gather(&in_steps[block], in_steps.data(), 2 * count, DType::i32).wait();
  EXPECT_EQ(at_once, in_steps);
}

/// Gathering across nodes and then inside the node is the same as gathering over the world.
TEST_F(TwoNodes, TwoStepsMakeTheWholeInPlace) {
  if (size % 2 == 0) {
    expect_two_steps_make_the_whole(rank, size, comm::Progress::polling);
  }
}

TEST_F(TwoNodes, AThreadMayDriveTheExchanges) {
  if (size % 2 == 0) {
    expect_two_steps_make_the_whole(rank, size, comm::Progress::thread);
  }
}

/// No rank but by its thread calls MPI until the result is there.
TEST_F(TwoNodes, TheThreadFinishesWhatNobodyPolls) {
  if (size % 2 == 0) {
    const auto comms = comm::make_mesh_comms("auto", comm::Progress::thread);
    std::vector<int> mine(500000, comms.cross->rank() + 1);
    std::vector<int> sum(mine.size(), 0);
    auto work = comms.cross->all_reduce(mine.data(), sum.data(), mine.size(), DType::i32,
                                        comm::ReduceOp::sum);
    const volatile int* last = &sum.back();
    while (*last != 3) {
      std::this_thread::yield();
    }
    work.wait();
    EXPECT_EQ(sum, std::vector<int>(mine.size(), 3));
  }
}

TEST_F(TwoNodes, SharedMemoryCannotSpanThem) {
  EXPECT_THROW(static_cast<void>(comm::make_mesh_comms("shm")), ConfigError);
}

}  // namespace
}  // namespace sherd
