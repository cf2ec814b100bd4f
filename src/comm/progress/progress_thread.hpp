#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/shared/epoch_cell.hpp"
#include "sherd/comm/work.hpp"

namespace sherd::comm {

/// What the issuer of an operation and the thread that drives it share.
struct Ticket {
  EpochCell done{};          ///< 1 once the thread has let go of the operation
  std::exception_ptr error;  ///< set before `done` when the operation failed
  std::atomic<bool> abandoned{false};
};

/// The one thread of a process that drives operations while others compute: starts them in the
/// order they come, keeps as many under way as there are, and polls them until each is done. It
/// sleeps while there are none, and between polls: briefly while somebody waits for one.
class ProgressThread {
 public:
  using Start = std::function<Work()>;

  ProgressThread();
  /// Operations still under way are given up.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Hands an operation over. Local, does not block.
  [[nodiscard]] std::shared_ptr<Ticket> submit(Start start);
  /// Blocks until the operation is done and throws what it threw. `what` names it for messages.
  void wait(const Ticket& ticket, const std::string& what, std::chrono::milliseconds timeout);
  /// Lets the thread drop the operation unfinished. Its buffers may still be written.
  void abandon(Ticket& ticket) noexcept;
  /// The same, and returns once the thread does not touch the operation any more.
  void abandon_and_wait(Ticket& ticket) noexcept;

 private:
  struct Underway {
    std::shared_ptr<Ticket> ticket;
    Start start;
    Work work;
  };

  void run();
  [[nodiscard]] bool take_submitted();
  [[nodiscard]] bool advance();
  void rest();
  void wake() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Underway> submitted_;
  bool stopping_ = false;
  bool woken_ = false;
  std::atomic<int> waiting_{0};
  std::vector<Underway> underway_;  // the thread's own, as is the next
  int idle_rounds_ = 0;             // polls since something was started or ended
  std::thread thread_;              // last: it uses all of the above
};

}  // namespace sherd::comm
