#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sherd/tensor/kernel/optimizer.hpp"

namespace sherd::fsdp {

/// Statistics of each buffer's main gradient, which a device may still be computing. Those that
/// nobody will read are kept until the host has waited for the device: dropped earlier, they would
/// hold it until their copies are done.
class StatsBoard {
 public:
  explicit StatsBoard(std::size_t buffers) : stats_(buffers) {}

  void set(std::size_t buffer, kernel::PendingStats stats) {
    keep(std::exchange(stats_[buffer], std::move(stats)));
  }
  void keep(kernel::PendingStats unread) { unread_.push_back(std::move(unread)); }
  [[nodiscard]] const kernel::PendingStats& of(std::size_t buffer) const { return stats_[buffer]; }
  [[nodiscard]] const std::vector<kernel::PendingStats>& all() const noexcept { return stats_; }

  /// The device has come past all of them.
  void settle() { unread_.clear(); }
  void clear() {
    unread_.clear();
    stats_.assign(stats_.size(), {});
  }

 private:
  std::vector<kernel::PendingStats> stats_;
  std::vector<kernel::PendingStats> unread_;
};

}  // namespace sherd::fsdp
