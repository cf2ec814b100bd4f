#include "comm/mpi/mpi_work.hpp"

#include <sched.h>

#include <thread>
#include <utility>

#include "comm/mpi/mpi_api.hpp"
#include "comm/wait_watch.hpp"
#include "sherd/comm/timeout.hpp"

namespace sherd::comm::mpi {
namespace {

/// Polls before the first time the core is left to others.
constexpr int kPollsBeforeYield = 200;
/// A wait that has lasted so long is for much data: the core is worth more to another rank than an
/// early look. Socket buffers hold more than a fast link carries in a nap.
constexpr std::chrono::milliseconds kYieldFor{5};
constexpr std::chrono::microseconds kWorkNap{50};

}  // namespace

MpiWork::MpiWork(std::string what, std::vector<Stage> stages, std::size_t lag)
    : what_(std::move(what)), timeout_(comm_timeout()), stages_(std::move(stages)), lag_(lag) {
  run_stages();
}

MpiWork::~MpiWork() {
  if (!underway_.empty()) {
    // Given up: MPI may still write to the staging memory, which therefore must stay.
    static_cast<void>(new std::vector<Stage>(std::move(stages_)));
  }
}

void MpiWork::run_stages() {
  while (next_ < stages_.size() && underway_.size() < lag_) {
    underway_.emplace_back();
    stages_[next_++](underway_.back());
  }
}

bool MpiWork::test() {
  while (!underway_.empty()) {
    if (!testall(underway_.front())) {
      return false;
    }
    underway_.pop_front();
    run_stages();
  }
  return true;
}

void MpiWork::wait() {
  WaitWatch watch(timeout_);
  for (int polls = 0; !test(); ++polls) {
    if (polls < kPollsBeforeYield) {
      continue;
    }
    polls = kPollsBeforeYield;
    static_cast<void>(progress_device());
    const std::chrono::milliseconds left = watch.left();
    if (left.count() <= 0) {
      fail_incomplete(what_, timeout_);
    }
    if (timeout_ - left < kYieldFor) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kWorkNap);
    }
  }
}

}  // namespace sherd::comm::mpi
