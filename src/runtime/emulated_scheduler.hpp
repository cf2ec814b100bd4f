#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "runtime/emulated_memory.hpp"
#include "sherd/runtime/emulated_device.hpp"

namespace sherd::runtime {

class EmulatedScheduler;

struct EmulatedEvent final : EventState, std::enable_shared_from_this<EmulatedEvent> {
  explicit EmulatedEvent(std::shared_ptr<EmulatedScheduler> owner) : scheduler(std::move(owner)) {}
  [[nodiscard]] bool done() override;
  void synchronize() override;
  [[nodiscard]] double seconds_since(EventState& earlier) override;

  std::shared_ptr<EmulatedScheduler> scheduler;
  bool reached = false;
  bool timed = false;
  std::chrono::steady_clock::time_point time;
};

/// One entry of a stream's queue. Which members are set says what it is.
struct EmulatedOperation {
  std::function<void()> start;            ///< runs once
  std::function<bool()> poll;             ///< then this, until true
  std::shared_ptr<EmulatedEvent> record;  ///< reached here
  std::shared_ptr<EmulatedEvent> await;   ///< the stream goes on once it is reached
  bool started = false;
};

struct EmulatedQueue {
  std::deque<EmulatedOperation> operations;
  std::uint64_t priority = 0;
};

/// Runs the queues of one device. Operations run inside the calls that wait, and in progress().
class EmulatedScheduler {
 public:
  explicit EmulatedScheduler(const EmulatedOptions& options);

  [[nodiscard]] std::shared_ptr<EmulatedQueue> make_queue();
  void drop_queue(const std::shared_ptr<EmulatedQueue>& queue) noexcept;

  void enqueue(EmulatedQueue& queue, EmulatedOperation operation);
  /// Runs nothing, however long the queues are.
  void push(EmulatedQueue& queue, EmulatedOperation operation);
  /// Runs operations until `reached` says so. Throws what they throw, and DeviceError when nothing
  /// can run that would change anything.
  void run_until(const std::function<bool()>& reached);
  void drain(const EmulatedQueue& queue);
  void drain();
  /// Runs what can run, at most `operations` of them.
  void progress(std::size_t operations);

  [[nodiscard]] EmulatedMemory& memory() noexcept { return memory_; }
  [[nodiscard]] std::recursive_mutex& mutex() noexcept { return mutex_; }

 private:
  bool step();
  bool run_head(EmulatedQueue& queue);
  void finish(EmulatedQueue& queue, bool was_polled);
  [[nodiscard]] bool complete(EmulatedQueue& queue);
  void shuffle();
  [[nodiscard]] std::size_t queued() const noexcept;

  std::recursive_mutex mutex_;
  EmulatedMemory memory_;
  std::size_t most_queued_;
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<EmulatedQueue>> queues_;
  std::size_t in_flight_ = 0;  // polled operations that have started
  bool running_ = false;       // an operation is on the stack: it may come back here
};

}  // namespace sherd::runtime
