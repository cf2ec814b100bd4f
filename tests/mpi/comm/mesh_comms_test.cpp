#include "sherd/comm/mesh_comms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "sherd/base/error.hpp"
#include "sherd/comm/mpi_interop.hpp"

namespace sherd {
namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

TEST(MeshComms, OneNodeIsSharedMemory) {
  const auto comms = comm::make_mesh_comms();
  EXPECT_EQ(comms.mesh.nodes(), 1);
  EXPECT_EQ(comms.mesh.local_size(), world_size());
  EXPECT_EQ(comms.world->rank(), world_rank());
  EXPECT_EQ(comms.world->size(), world_size());
  EXPECT_EQ(comms.local->size(), world_size());
  EXPECT_EQ(comms.cross->size(), 1);
  EXPECT_EQ(comms.world->backend(), world_size() == 1 ? "self" : "shm");
  EXPECT_NE(comms.local->allocate_shared(100), nullptr);
}

TEST(MeshComms, TheBackendAskedForIsTaken) {
  EXPECT_EQ(comm::make_mesh_comms("shm").world->backend(), "shm");
  EXPECT_EQ(comm::make_mesh_comms("mpi").world->backend(), "mpi");
  EXPECT_EQ(comm::make_mesh_comms("mpi").local->backend(), "mpi");
}

TEST(MeshComms, AnUnknownBackendIsRefused) {
  EXPECT_THROW(static_cast<void>(comm::make_mesh_comms("nccl2")), ConfigError);
}

TEST(MeshComms, RanksThatAskForDifferentBackendsAllHearOfIt) {
  if (world_size() > 1) {
    EXPECT_THROW(static_cast<void>(comm::make_mesh_comms(world_rank() == 0 ? "shm" : "mpi")),
                 ConfigError);
  }
}

TEST(MeshComms, SelfNeedsNoMpi) {
  const auto comms = comm::make_self_comms();
  EXPECT_EQ(comms.mesh.size(), 1);
  EXPECT_EQ(comms.world->size() + comms.local->size() + comms.cross->size(), 3);
}

TEST(MeshComms, AnyCommunicatorOfTheProgramWillDo) {
  int dims[2] = {0, 0};
  const int periods[2] = {1, 0};
  MPI_Dims_create(world_size(), 2, dims);
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, -world_rank(), &half);
  {
    const auto on_grid = comm::make_mesh_comms(grid);
    const auto on_half = comm::make_mesh_comms(half);
    MPI_Comm_free(&grid);  // the library has its own
    int size = 0;
    int rank = 0;
    MPI_Comm_size(half, &size);
    MPI_Comm_rank(half, &rank);
    EXPECT_EQ(on_grid.world->size(), world_size());
    EXPECT_EQ(on_half.world->size(), size);
    EXPECT_EQ(on_half.mesh.owner(on_half.world->rank()), rank);
    int sum = world_rank();
    on_half.world->all_reduce(&sum, &sum, 1, DType::i32, comm::ReduceOp::max).wait();
    EXPECT_EQ(sum % 2, world_rank() % 2);
    on_grid.world->barrier();
  }
  MPI_Comm_free(&half);
  EXPECT_THROW(static_cast<void>(comm::make_mesh_comms(MPI_COMM_NULL)), ArgumentError);
}

}  // namespace
}  // namespace sherd
