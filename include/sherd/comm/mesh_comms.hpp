#pragma once

#include <cstdint>
#include <functional>
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

/// Who drives operations between nodes while a rank computes.
enum class Progress : std::uint8_t {
  polling,  ///< the rank itself, whenever it calls Work::test() or wait()
  thread    ///< a thread of the process, one for all its communicators
};

/// Splits the launch's ranks (MPI_COMM_WORLD as the Runtime started it) along the mesh axes.
/// Collective. `backend`: "auto", "shm" or "mpi" for `world`; throws ConfigError on all ranks when
/// it cannot be had here, with the reason. `progress` is about the communicators that span nodes;
/// where MPI cannot be called by several threads it is polling, with a line in the log.
[[nodiscard]] MeshComms make_mesh_comms(std::string_view backend = "auto",
                                        Progress progress = Progress::polling);

/// One rank, without MPI.
[[nodiscard]] MeshComms make_self_comms();

/// Runs `body` on nodes * local_size threads of this process as ranks of such a mesh, all levels on
/// the `inproc` backend; returns when all have ended and rethrows the first exception.
void run_inproc_mesh(int nodes, int local_size, const std::function<void(MeshComms&)>& body);

}  // namespace sherd::comm
