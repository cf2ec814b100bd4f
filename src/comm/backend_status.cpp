#include <mpi.h>

#include <string>

#include "comm/mpi/mpi_api.hpp"
#include "comm/nccl/nccl_backend.hpp"
#include "comm/shared/lockstep.hpp"
#include "comm/shm/shared_space.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd::comm {
namespace {

BackendStatus shm_status() {
  try {
    require_shared_space(Lockstep::bytes_for(1));
  } catch (const CommError& error) {
    return {"shm", false, error.what()};
  }
  return {"shm", true, "ranks of one node, memory without a name"};
}

}  // namespace

std::vector<BackendStatus> backend_statuses() {
  return {{"self", true, "one rank"},
          {"inproc", true, "threads of one process"},
          shm_status(),
          {"mpi", true, mpi::library_version()},
          nccl_status()};
}

}  // namespace sherd::comm
