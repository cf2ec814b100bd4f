#pragma once

#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_handles.hpp"
#include "comm/shared/shared_team.hpp"

namespace sherd::comm {

/// Processes of one node that map the same memory. It has no name that a killed run could leave
/// behind, as MPI's windows have (node_memory.hpp).
class ShmTeam final : public SharedTeam, public mpi::MpiBased {
 public:
  /// Takes over a communicator whose ranks all share memory. Collective.
  explicit ShmTeam(mpi::CommHandle comm);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view backend() const noexcept override { return "shm"; }
  [[nodiscard]] std::unique_ptr<SharedRegion> allocate(std::size_t bytes) override;
  [[nodiscard]] std::shared_ptr<SharedTeam> duplicate() override;
  [[nodiscard]] std::atomic<std::uint32_t>& failed() noexcept override;
  [[nodiscard]] mpi::CommHandle duplicate_handle() override;
  [[nodiscard]] mpi::MpiBased* mpi() noexcept override { return this; }

 private:
  mpi::CommHandle comm_;
  int rank_;
  int size_;
  std::unique_ptr<SharedRegion> flag_;
};

/// Whether all ranks of `comm` share memory. Collective.
[[nodiscard]] bool shares_memory(MPI_Comm comm);

}  // namespace sherd::comm
