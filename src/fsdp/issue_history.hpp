#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fsdp/group.hpp"
#include "sherd/comm/issue_log.hpp"

namespace sherd::fsdp {

/// What this rank has done that all ranks must do alike, so that ranks that went different ways are
/// found out: while one waits for the other, and when a step's global values are exchanged.
class IssueHistory {
 public:
  /// Collective. `numbers`: what messages call each rank of `world`.
  IssueHistory(comm::Communicator& world, const GroupSet& set, std::vector<int> numbers);

  void backward() noexcept { log_->add(0); }
  /// Where all ranks wait for each other: one that does more or fewer micro-batches is found out.
  void norm() noexcept { log_->add(1); }
  void update() noexcept { log_->add(2); }
  void gather(std::size_t group) noexcept { log_->add(2 * group + 3); }
  void reduction(std::size_t group) noexcept { log_->add(2 * group + 4); }

  [[nodiscard]] std::uint64_t hash() const noexcept { return log_->hash(); }
  [[nodiscard]] comm::WaitObserver& observer() const noexcept { return *log_; }

  /// The ranks' hashes differ: throws CommError that says who did what. Collective.
  [[noreturn]] void explain(comm::Communicator& world);

 private:
  std::unique_ptr<comm::IssueLog> log_;
};

}  // namespace sherd::fsdp
