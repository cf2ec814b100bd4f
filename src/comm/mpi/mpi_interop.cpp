#include "sherd/comm/mpi_interop.hpp"

#include "comm/mpi/mpi_api.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/shared/shared_communicator.hpp"
#include "comm/shm/shm_team.hpp"
#include "sherd/base/check.hpp"

namespace sherd::comm {

std::unique_ptr<Communicator> make_mpi(MPI_Comm comm) {
  return std::make_unique<mpi::MpiCommunicator>(mpi::comm_dup(comm));
}

std::unique_ptr<Communicator> make_shm(MPI_Comm comm) {
  mpi::CommHandle own = mpi::comm_dup(comm);
  validate(shares_memory(own.get()),
           "backend shm needs ranks that share memory (these are on several nodes). Try: mpi");
  return std::make_unique<SharedCommunicator>(std::make_shared<ShmTeam>(std::move(own)));
}

}  // namespace sherd::comm
