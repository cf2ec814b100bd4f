#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace sherd::comm {

/// The clock of one wait: tells this thread's WaitObserver when the wait gets long, and says when
/// it is too long.
class WaitWatch {
 public:
  explicit WaitWatch(std::chrono::milliseconds timeout);

  /// Time left; not positive once the wait is to end. Throws what the observer throws. To be called
  /// often: it costs a look at the clock.
  [[nodiscard]] std::chrono::milliseconds left();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  Clock::time_point next_call_;
  std::chrono::milliseconds timeout_;
};

/// Has this thread's observer look at the other ranks at once. Throws what it throws.
void ask_observer();

/// Lets the queues of this thread's device go on: another rank may wait for what is in them. False
/// when it has no device.
bool progress_device();

/// The same, and runs what this thread wants done while it waits; false when that is nothing.
bool progress_while_waiting();

/// Leaves that out until the scope ends: where waiting for an operation could come back to the same
/// operation.
class WithoutProgress {
 public:
  WithoutProgress() noexcept;
  ~WithoutProgress();
  WithoutProgress(const WithoutProgress&) = delete;
  WithoutProgress& operator=(const WithoutProgress&) = delete;

 private:
  const std::function<void()>* previous_;
};

/// What this thread's observer says of the other ranks, to be added to a message; may be empty.
/// Never throws what the observer throws.
[[nodiscard]] std::string what_others_do();

/// Throws the CommError of an operation that was waited for in vain.
[[noreturn]] void fail_incomplete(const std::string& operation, std::chrono::milliseconds timeout);

}  // namespace sherd::comm
