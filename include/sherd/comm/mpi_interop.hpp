#pragma once

#include <mpi.h>

#include <memory>

#include "sherd/comm/communicator.hpp"

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

}  // namespace sherd::comm
