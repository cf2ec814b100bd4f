#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace sherd::comm {

/// Told by a thread that waits for other ranks long: it can find out why, and end the wait.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;
  WaitObserver(const WaitObserver&) = delete;
  WaitObserver& operator=(const WaitObserver&) = delete;

  /// The calling thread has been in one wait for `time` so far. Called about every 250 ms once a
  /// wait has lasted a second. What it throws ends the wait.
  virtual void waited(std::chrono::milliseconds time) = 0;
  /// What is known of the other ranks, as a sentence for the message of a wait that timed out.
  [[nodiscard]] virtual std::string describe() = 0;

 protected:
  WaitObserver() = default;
};

/// Makes `observer` hear of this thread's waits (on epoch boards, Works and blocking collectives)
/// until the scope ends, in place of the one before. Local; the observer must outlive it.
class ScopedWaitObserver {
 public:
  explicit ScopedWaitObserver(WaitObserver& observer) noexcept;
  ~ScopedWaitObserver();
  ScopedWaitObserver(const ScopedWaitObserver&) = delete;
  ScopedWaitObserver& operator=(const ScopedWaitObserver&) = delete;

 private:
  WaitObserver* previous_;
};

/// Has `call` called again and again while this thread waits on an epoch board or in a collective
/// over shared memory, until the scope ends, in place of the one before: a rank that waits for its
/// node must go on serving the other nodes. Local; `call` must outlive the scope and must not start
/// a collective.
class ScopedWaitProgress {
 public:
  explicit ScopedWaitProgress(const std::function<void()>& call) noexcept;
  ~ScopedWaitProgress();
  ScopedWaitProgress(const ScopedWaitProgress&) = delete;
  ScopedWaitProgress& operator=(const ScopedWaitProgress&) = delete;

 private:
  const std::function<void()>* previous_;
};

}  // namespace sherd::comm
