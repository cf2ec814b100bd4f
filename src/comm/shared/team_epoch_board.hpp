#pragma once

#include <memory>

#include "comm/shared/peers.hpp"
#include "sherd/comm/epoch_board.hpp"

namespace sherd::comm {

/// An EpochBoard in a region of a team: one cell (a cache line) for each slot and rank.
class TeamEpochBoard final : public EpochBoard {
 public:
  TeamEpochBoard(std::shared_ptr<SharedTeam> team, std::size_t slots);

  void post(std::size_t slot, std::uint64_t epoch) noexcept override;
  [[nodiscard]] std::uint64_t read(std::size_t slot, int rank) const noexcept override;
  void wait_all(std::size_t slot, std::uint64_t epoch, const char* what) const override;
  [[nodiscard]] bool test_all(std::size_t slot, std::uint64_t epoch) const noexcept override;

 private:
  [[nodiscard]] EpochCell& cell(std::size_t slot, int rank) const noexcept;

  Peers peers_;
  std::unique_ptr<SharedRegion> region_;
};

}  // namespace sherd::comm
