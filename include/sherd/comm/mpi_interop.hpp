#pragma once

#include <mpi.h>

#include <memory>
#include <string_view>

#include "sherd/comm/communicator.hpp"
#include "sherd/comm/mesh_comms.hpp"

namespace sherd::comm {

/// For programs that have an MPI communicator of their own; the only public header that needs
/// MPI's. All of them are collective over `comm` and blocking; `comm` is duplicated and stays the
/// caller's. What they return must be destroyed before MPI_Finalize, on all ranks in the same
/// order.

/// The `mpi` backend. Throws CommError.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi(MPI_Comm comm);

/// The `shm` backend. Throws ConfigError on all ranks when they do not share memory, CommError when
/// the node has no room for the staging memory.
[[nodiscard]] std::unique_ptr<Communicator> make_shm(MPI_Comm comm);

/// make_mesh_comms() over the ranks of `comm` instead of MPI_COMM_WORLD; any intracommunicator will
/// do (a Cartesian one, a part of the launch), at any thread level MPI was started with. Ranks are
/// numbered as in `comm`. Where its nodes hold different numbers of ranks, each rank counts as a
/// node of its own. Needs no Runtime.
[[nodiscard]] MeshComms make_mesh_comms(MPI_Comm comm, std::string_view backend = "auto",
                                        Progress progress = Progress::polling);

struct FreeMpiComm {
  void operator()(MPI_Comm* comm) const noexcept;
};
using OwnedMpiComm = std::unique_ptr<MPI_Comm, FreeMpiComm>;

/// An MPI communicator of the ranks of `comm` that pass the same `color`, in the order of their
/// ranks; for libraries that want one. Null where `comm` is not made of MPI. One rank alone needs
/// only MPI to run.
[[nodiscard]] OwnedMpiComm split_mpi_comm(Communicator& comm, int color);

}  // namespace sherd::comm
