#pragma once

#include <memory>
#include <string>

#include "comm/shared/epoch_cell.hpp"
#include "comm/shared/shared_team.hpp"

namespace sherd::comm {

/// Waits for cells of a team's ranks and turns what goes wrong into a CommError that names ranks.
class Peers {
 public:
  explicit Peers(std::shared_ptr<SharedTeam> team);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] SharedTeam& team() const noexcept { return *team_; }

  /// Blocks until `cells(rank)` has reached `epoch` for every rank. `what()` names the operation
  /// for the message. Throws CommError.
  template <class Cells, class What>
  void await_all(const Cells& cells, std::uint64_t epoch, const What& what) const {
    for (int peer = 0; peer < size_; ++peer) {
      const Waited result = wait_for(cells(peer), epoch, patience_);
      if (result != Waited::reached) {
        fail(result, missing(cells, epoch), what());
      }
    }
  }

 private:
  template <class Cells>
  [[nodiscard]] std::string missing(const Cells& cells, std::uint64_t epoch) const {
    std::string ranks;
    for (int peer = 0; peer < size_; ++peer) {
      if (cells(peer).epoch.load(std::memory_order_acquire) < epoch) {
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(peer);
      }
    }
    return ranks;
  }
  [[noreturn]] void fail(Waited why, const std::string& missing, const std::string& what) const;

  std::shared_ptr<SharedTeam> team_;
  int rank_;
  int size_;
  Patience patience_;
};

}  // namespace sherd::comm
