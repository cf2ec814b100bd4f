#pragma once

#include <mpi.h>

#include "sherd/base/unique_handle.hpp"

namespace sherd::comm::mpi {

/// Closing is skipped once MPI has ended, and while an exception is on its way out: it may be
/// collective, and the other ranks are not coming.
struct CommTraits {
  using Raw = MPI_Comm;
  static Raw null() { return MPI_COMM_NULL; }
  static void close(Raw raw) noexcept;
};
using CommHandle = UniqueHandle<CommTraits>;

}  // namespace sherd::comm::mpi
