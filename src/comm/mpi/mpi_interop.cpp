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

void FreeMpiComm::operator()(MPI_Comm* comm) const noexcept {
  mpi::CommTraits::close(*comm);
  delete comm;
}

OwnedMpiComm split_mpi_comm(Communicator& comm, int color) {
  mpi::MpiBased* const based = comm.capabilities().mpi;
  if (based == nullptr) {
    const bool alone = comm.size() == 1 && mpi::nothrow::running();
    return OwnedMpiComm(alone ? new MPI_Comm(mpi::comm_dup(MPI_COMM_SELF).release()) : nullptr);
  }
  const mpi::CommHandle all = based->duplicate_handle();
  return OwnedMpiComm(new MPI_Comm(mpi::comm_split(all.get(), color, comm.rank()).release()));
}

}  // namespace sherd::comm
