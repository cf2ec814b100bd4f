#include "comm/nccl/nccl_work.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "comm/timeout.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm::nccl {

NcclWork::NcclWork(std::string what, EventHandle event, ncclComm_t comm)
    : what_(std::move(what)), timeout_(comm_timeout()), event_(std::move(event)), comm_(comm) {}

bool NcclWork::test() {
  if (reached(event_.get())) {
    return true;
  }
  check_async(comm_);
  return false;
}

/// Polls instead of blocking in CUDA: a rank that has failed is noticed, and the wait can end.
void NcclWork::wait() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout_;
  while (!test()) {
    sched_yield();
    if (Clock::now() > deadline) {
      throw CommError(
          fmt::format("{} was not complete after {} s (another rank has failed, or has not "
                      "called it). Try: look for an error on the other ranks, or a larger "
                      "SHERD_COMM_TIMEOUT",
                      what_, std::chrono::duration<double>(timeout_).count()));
    }
  }
}

}  // namespace sherd::comm::nccl
