#include "comm/nccl/nccl_work.hpp"

#include <sched.h>

#include <utility>

#include "comm/timeout.hpp"
#include "comm/wait_watch.hpp"

namespace sherd::comm::nccl {

NcclWork::NcclWork(std::string what, EventHandle event, std::shared_ptr<Connection> connection)
    : what_(std::move(what)),
      timeout_(comm_timeout()),
      event_(std::move(event)),
      connection_(std::move(connection)) {}

bool NcclWork::test() {
  if (reached(event_.get())) {
    return true;
  }
  connection_->check(what_);
  return false;
}

/// Polls instead of blocking in CUDA: a rank that has failed is noticed, and the wait can end. What
/// ends it aborts the communicator, so that the other ranks end as well.
void NcclWork::wait() {
  WaitWatch watch(timeout_);
  try {
    while (!test()) {
      sched_yield();
      if (watch.left().count() <= 0) {
        fail_incomplete(what_, timeout_);
      }
    }
  } catch (...) {
    connection_->abort();
    throw;
  }
}

}  // namespace sherd::comm::nccl
