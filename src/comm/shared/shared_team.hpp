#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sherd/comm/shared_region.hpp"

namespace sherd::comm {
namespace mpi {
class MpiBased;
}

/// Ranks that can map the same memory, and nothing more: what the shared-memory collectives need to
/// know of threads (`inproc`) and of processes with MPI windows (`shm`).
class SharedTeam {
 public:
  virtual ~SharedTeam() = default;
  SharedTeam(const SharedTeam&) = delete;
  SharedTeam& operator=(const SharedTeam&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual std::string_view backend() const noexcept = 0;

  /// A zero-filled block that all ranks map. Collective, blocking. Throws CommError on all ranks
  /// when there is no room.
  [[nodiscard]] virtual std::unique_ptr<SharedRegion> allocate(std::size_t bytes) = 0;

  /// The same ranks again. Collective, blocking.
  [[nodiscard]] virtual std::shared_ptr<SharedTeam> duplicate() = 0;

  /// What makes MPI communicators of these ranks; null for threads.
  [[nodiscard]] virtual mpi::MpiBased* mpi() noexcept { return nullptr; }

  /// Shared by the ranks: 0, or 1 + the rank that has given up. Waits look at it.
  [[nodiscard]] virtual std::atomic<std::uint32_t>& failed() noexcept = 0;

 protected:
  SharedTeam() = default;
};

/// Tells the others that this rank will not come to any further collective.
inline void give_up(SharedTeam& team) noexcept {
  std::uint32_t none = 0;
  team.failed().compare_exchange_strong(none, static_cast<std::uint32_t>(team.rank()) + 1U);
}

}  // namespace sherd::comm
