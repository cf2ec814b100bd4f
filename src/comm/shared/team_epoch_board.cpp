#include "comm/shared/team_epoch_board.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sherd::comm {

TeamEpochBoard::TeamEpochBoard(std::shared_ptr<SharedTeam> team, std::size_t slots)
    : peers_(std::move(team)),
      region_(peers_.team().allocate(std::max<std::size_t>(slots, 1) *
                                     static_cast<std::size_t>(peers_.size()) * sizeof(EpochCell))) {
}

EpochCell& TeamEpochBoard::cell(std::size_t slot, int rank) const noexcept {
  auto* cells = reinterpret_cast<EpochCell*>(region_->bytes().data());
  return cells[slot * static_cast<std::size_t>(peers_.size()) + static_cast<std::size_t>(rank)];
}

void TeamEpochBoard::post(std::size_t slot, std::uint64_t epoch) noexcept {
  comm::post(cell(slot, peers_.rank()), epoch);
}

std::uint64_t TeamEpochBoard::read(std::size_t slot, int rank) const noexcept {
  return cell(slot, rank).epoch.load(std::memory_order_acquire);
}

void TeamEpochBoard::wait_all(std::size_t slot, std::uint64_t epoch, const char* what) const {
  peers_.await_all([&](int rank) -> const EpochCell& { return cell(slot, rank); }, epoch,
                   [&] { return std::string(what); });
}

bool TeamEpochBoard::test_all(std::size_t slot, std::uint64_t epoch) const noexcept {
  for (int rank = 0; rank < peers_.size(); ++rank) {
    if (read(slot, rank) < epoch) {
      return false;
    }
  }
  return true;
}

}  // namespace sherd::comm
