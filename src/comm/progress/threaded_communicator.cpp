#include "comm/progress/threaded_communicator.hpp"

#include <exception>
#include <utility>

#include "sherd/base/log.hpp"
#include "sherd/comm/timeout.hpp"

namespace sherd::comm {
namespace {

bool is_done(const std::shared_ptr<Ticket>& ticket) noexcept {
  return ticket->done.epoch.load(std::memory_order_acquire) != 0;
}

class ThreadedWork final : public WorkState {
 public:
  ThreadedWork(std::string what, std::shared_ptr<ProgressThread> thread,
               std::shared_ptr<Ticket> ticket, std::chrono::milliseconds timeout)
      : what_(std::move(what)),
        thread_(std::move(thread)),
        ticket_(std::move(ticket)),
        timeout_(timeout) {}
  ~ThreadedWork() override {
    if (!is_done(ticket_)) {
      thread_->abandon(*ticket_);
    }
  }

  bool test() override {
    if (!is_done(ticket_)) {
      return false;
    }
    wait();  // throws what the operation threw
    return true;
  }
  void wait() override { thread_->wait(*ticket_, what_, timeout_); }

 private:
  std::string what_;
  std::shared_ptr<ProgressThread> thread_;
  std::shared_ptr<Ticket> ticket_;
  std::chrono::milliseconds timeout_;
};

}  // namespace

ThreadedCommunicator::ThreadedCommunicator(std::unique_ptr<mpi::MpiCommunicator> inner,
                                           std::shared_ptr<ProgressThread> thread)
    : inner_(std::move(inner)),
      thread_(std::move(thread)),
      timeout_(comm_timeout()),
      exceptions_(std::uncaught_exceptions()) {}

ThreadedCommunicator::~ThreadedCommunicator() {
  if (std::uncaught_exceptions() == exceptions_) {
    try {
      finish_all();
    } catch (const std::exception& failure) {
      log::warning(std::string("an operation was not finished: ") + failure.what());
    }
  }
  for (const auto& ticket : issued_) {
    thread_->abandon_and_wait(*ticket);
  }
}

Work ThreadedCommunicator::start(const Collective& collective) {
  while (!issued_.empty() && is_done(issued_.front())) {
    issued_.pop_front();
  }
  issued_.push_back(thread_->submit([=, this] { return inner_->issue(collective); }));
  return Work(
      std::make_unique<ThreadedWork>(describe(collective), thread_, issued_.back(), timeout_));
}

void ThreadedCommunicator::finish_all() {
  for (const auto& ticket : issued_) {
    if (!ticket->abandoned) {
      thread_->wait(*ticket, "an operation", timeout_);
    }
  }
}

/// MPI forbids two threads in collectives of one communicator at a time.
mpi::CommHandle ThreadedCommunicator::duplicate_handle() {
  finish_all();
  return inner_->duplicate_handle();
}

std::unique_ptr<Communicator> ThreadedCommunicator::duplicate() {
  finish_all();
  return std::make_unique<ThreadedCommunicator>(inner_->twin(), thread_);
}

}  // namespace sherd::comm
