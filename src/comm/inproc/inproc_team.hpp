#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "comm/shared/shared_team.hpp"

namespace sherd::comm {

/// What the threads of one in-process group have in common.
class InprocGroup {
 public:
  /// `failed` is shared by a group and its duplicates.
  InprocGroup(int size, std::shared_ptr<std::atomic<std::uint32_t>> failed);

  /// Blocks until all threads are here; the last one makes the object that all of them return.
  /// Throws CommError when a rank has given up.
  std::shared_ptr<void> meet(const std::function<std::shared_ptr<void>()>& make);

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] const std::shared_ptr<std::atomic<std::uint32_t>>& failed() const noexcept {
    return failed_;
  }

 private:
  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::uint64_t meetings_ = 0;
  std::shared_ptr<void> made_;
  std::shared_ptr<std::atomic<std::uint32_t>> failed_;
};

/// The ranks of a group are threads of this process: any memory is shared.
class InprocTeam final : public SharedTeam {
 public:
  InprocTeam(std::shared_ptr<InprocGroup> group, int rank);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return group_->size(); }
  [[nodiscard]] std::string_view backend() const noexcept override { return "inproc"; }
  [[nodiscard]] std::unique_ptr<SharedRegion> allocate(std::size_t bytes) override;
  [[nodiscard]] std::shared_ptr<SharedTeam> duplicate() override;
  [[nodiscard]] std::atomic<std::uint32_t>& failed() noexcept override { return *group_->failed(); }

 private:
  std::shared_ptr<InprocGroup> group_;
  int rank_;
};

}  // namespace sherd::comm
