#pragma once

#include <memory>
#include <string_view>

#include "sherd/comm/communicator.hpp"
#include "sherd/mesh/device_mesh.hpp"

namespace sherd::comm {

/// The communicators of a mesh. `world` numbers its ranks by *piece* (DeviceMesh::piece), so that
/// collectives on whole buffers are in place and in order. `world` is `shm` when all ranks share
/// one node, else `mpi`.
struct MeshComms {
  mesh::DeviceMesh mesh;
  std::unique_ptr<Communicator> world;
  std::unique_ptr<Communicator> local;  ///< this rank's node
  std::unique_ptr<Communicator> cross;  ///< same local index on every node
};

/// Splits the launch's ranks (MPI_COMM_WORLD as the Runtime started it) along the mesh axes.
/// Collective. `backend`: "auto", "shm" or "mpi" for `world`; throws ConfigError on all ranks when
/// it cannot be had here, with the reason.
[[nodiscard]] MeshComms make_mesh_comms(std::string_view backend = "auto");

/// One rank, without MPI.
[[nodiscard]] MeshComms make_self_comms();

}  // namespace sherd::comm
