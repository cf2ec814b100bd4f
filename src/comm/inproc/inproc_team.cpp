#include "comm/inproc/inproc_team.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "comm/self/heap_region.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {

namespace {

/// A waiting rank looks up this often whether another has failed.
constexpr std::chrono::milliseconds kMeetingNap{50};

}  // namespace

InprocGroup::InprocGroup(int size, std::shared_ptr<std::atomic<std::uint32_t>> failed)
    : size_(size), failed_(std::move(failed)) {}

std::shared_ptr<void> InprocGroup::meet(const std::function<std::shared_ptr<void>()>& make) {
  std::unique_lock lock(mutex_);
  const std::uint64_t meeting = meetings_;
  if (++arrived_ == size_) {
    made_ = make();
    arrived_ = 0;
    ++meetings_;
    changed_.notify_all();
    return made_;
  }
  while (!changed_.wait_for(lock, kMeetingNap, [&] { return meetings_ != meeting; })) {
    if (failed_->load() != 0) {
      throw CommError("rank " + std::to_string(failed_->load() - 1) + " has failed");
    }
  }
  return made_;  // not replaced before this rank, too, is at the next meeting
}

InprocTeam::InprocTeam(std::shared_ptr<InprocGroup> group, int rank)
    : group_(std::move(group)), rank_(rank) {}

std::unique_ptr<SharedRegion> InprocTeam::allocate(std::size_t bytes) {
  const auto block = group_->meet([&] { return make_heap_block(bytes); });
  return std::make_unique<HeapRegion>(std::static_pointer_cast<SharedRegion>(block));
}

std::shared_ptr<SharedTeam> InprocTeam::duplicate() {
  const auto group =
      group_->meet([&] { return std::make_shared<InprocGroup>(size(), group_->failed()); });
  return std::make_shared<InprocTeam>(std::static_pointer_cast<InprocGroup>(group), rank_);
}

}  // namespace sherd::comm
