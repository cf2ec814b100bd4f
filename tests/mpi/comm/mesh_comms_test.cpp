#include "sherd/comm/mesh_comms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "sherd/base/error.hpp"

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

}  // namespace
}  // namespace sherd
