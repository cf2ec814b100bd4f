#include "comm/progress/progress_thread.hpp"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "comm/wait_watch.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::comm {
namespace {

/// Polls without sleep after something has happened, while somebody waits: small operations are
/// over by then.
constexpr int kEagerRounds = 200;
/// Socket buffers hold more than a fast link carries in this time.
constexpr std::chrono::microseconds kNapWhenAwaited{50};
constexpr std::chrono::microseconds kProgressNap{200};
/// The waiter leaves the core to the thread soon: with one core per rank they share it.
constexpr int kSpins = 100;

void drop_unfinished(Work work) {
  static_cast<void>(new Work(std::move(work)));  // MPI may still write to its staging memory
}

}  // namespace

ProgressThread::ProgressThread() : thread_([this] { run(); }) {}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

std::shared_ptr<Ticket> ProgressThread::submit(Start start) {
  auto ticket = std::make_shared<Ticket>();
  {
    const std::lock_guard lock(mutex_);
    submitted_.push_back({ticket, std::move(start), {}});
  }
  changed_.notify_one();
  return ticket;
}

void ProgressThread::wait(const Ticket& ticket, const std::string& what,
                          std::chrono::milliseconds timeout) {
  static const std::atomic<std::uint32_t> nobody_failed{0};
  struct Awaited {
    explicit Awaited(ProgressThread& thread) : thread_(thread) {
      if (thread_.waiting_.fetch_add(1) == 0) {
        thread_.wake();
      }
    }
    ~Awaited() { thread_.waiting_.fetch_sub(1); }
    ProgressThread& thread_;
  };
  if (ticket.done.epoch.load(std::memory_order_acquire) == 0) {
    const Awaited awaited(*this);
    const WithoutProgress alone;  // this very operation may be among what is in the background
    if (wait_for(ticket.done, 1, {kSpins, timeout, &nobody_failed}) != Waited::reached) {
      fail_incomplete(what, timeout);
    }
  }
  if (ticket.error != nullptr) {
    std::rethrow_exception(ticket.error);
  }
}

void ProgressThread::abandon(Ticket& ticket) noexcept {
  ticket.abandoned = true;
  wake();
}

void ProgressThread::abandon_and_wait(Ticket& ticket) noexcept {
  abandon(ticket);
  while (ticket.done.epoch.load(std::memory_order_acquire) == 0) {
    std::this_thread::yield();
  }
}

void ProgressThread::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void ProgressThread::run() {
  runtime::leave_the_team();
  while (take_submitted()) {
    idle_rounds_ = advance() ? 0 : std::min(idle_rounds_ + 1, kEagerRounds);
    if (!underway_.empty()) {
      rest();
    }
  }
  for (Underway& operation : underway_) {
    drop_unfinished(std::move(operation.work));
    post(operation.ticket->done, 1);
  }
}

/// Starts what has been handed over; sleeps while there is nothing to do. False at the end.
bool ProgressThread::take_submitted() {
  std::vector<Underway> fresh;
  {
    std::unique_lock lock(mutex_);
    if (underway_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || !submitted_.empty(); });
    }
    fresh.swap(submitted_);
    if (stopping_) {
      std::move(fresh.begin(), fresh.end(), std::back_inserter(underway_));
      return false;
    }
  }
  for (Underway& operation : fresh) {
    idle_rounds_ = 0;
    try {
      operation.work = std::exchange(operation.start, nullptr)();
      underway_.push_back(std::move(operation));
    } catch (...) {
      operation.ticket->error = std::current_exception();
      post(operation.ticket->done, 1);
    }
  }
  return true;
}

/// Polls all operations once. Whether any has ended.
bool ProgressThread::advance() {
  const auto ended = [](Underway& operation) {
    if (operation.ticket->abandoned) {
      drop_unfinished(std::move(operation.work));
      post(operation.ticket->done, 1);
      return true;
    }
    try {
      if (!operation.work.test()) {
        return false;
      }
    } catch (...) {
      operation.ticket->error = std::current_exception();
    }
    post(operation.ticket->done, 1);
    return true;
  };
  return std::erase_if(underway_, ended) > 0;
}

void ProgressThread::rest() {
  const bool awaited = waiting_.load(std::memory_order_relaxed) > 0;
  if (awaited && idle_rounds_ < kEagerRounds) {
    sched_yield();
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, awaited ? kNapWhenAwaited : kProgressNap,
                    [this] { return stopping_ || woken_ || !submitted_.empty(); });
  woken_ = false;
}

}  // namespace sherd::comm
