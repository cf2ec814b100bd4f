#include "comm/mpi/mpi_work.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "comm/mpi/mpi_api.hpp"
#include "comm/timeout.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm::mpi {
namespace {

/// Polls before the first time the core is left to others.
constexpr int kPollsBeforeYield = 200;

}  // namespace

MpiWork::MpiWork(std::string what, std::vector<Stage> stages)
    : what_(std::move(what)), timeout_(comm_timeout()), stages_(std::move(stages)) {
  run_stage();
}

MpiWork::~MpiWork() {
  if (!requests_.empty()) {
    // Given up: MPI may still write to the staging memory, which therefore must stay.
    static_cast<void>(new std::vector<Stage>(std::move(stages_)));
  }
}

void MpiWork::run_stage() { stages_[next_++](requests_); }

bool MpiWork::test() {
  while (requests_.empty() || testall(requests_)) {
    requests_.clear();
    if (next_ == stages_.size()) {
      return true;
    }
    run_stage();
  }
  return false;
}

void MpiWork::wait() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout_;
  for (int polls = 0; !test(); ++polls) {
    if (polls < kPollsBeforeYield) {
      continue;
    }
    sched_yield();
    if (polls % 64 == 0 && Clock::now() > deadline) {
      throw CommError(
          fmt::format("{} was not complete after {} s (another rank has failed, or has not "
                      "called it). Try: look for an error on the other ranks, or a larger "
                      "SHERD_COMM_TIMEOUT",
                      what_, std::chrono::duration<double>(timeout_).count()));
    }
    polls = polls >= (1 << 20) ? kPollsBeforeYield : polls;
  }
}

}  // namespace sherd::comm::mpi
