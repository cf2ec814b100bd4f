#include "runtime/emulated_scheduler.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "sherd/base/check.hpp"

namespace sherd::runtime {
namespace {

/// Sets a flag for the time of an operation, also one that throws.
class Running {
 public:
  explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
};

}  // namespace

bool EmulatedEvent::done() {
  const std::lock_guard lock(scheduler->mutex());
  if (!reached) {
    scheduler->progress(1);
  }
  return reached;
}

void EmulatedEvent::synchronize() {
  scheduler->run_until([this] { return reached; });
}

double EmulatedEvent::seconds_since(EventState& earlier) {
  const auto* other = dynamic_cast<EmulatedEvent*>(&earlier);
  expect(other != nullptr && timed && other->timed && reached && other->reached,
         "time between events (both must be complete and recorded with Timing::on)");
  return std::chrono::duration<double>(time - other->time).count();
}

EmulatedScheduler::EmulatedScheduler(const EmulatedOptions& options)
    : memory_(options.memory_bytes, options.protect_memory),
      most_queued_(options.queued_operations),
      random_(options.seed) {}

std::shared_ptr<EmulatedQueue> EmulatedScheduler::make_queue() {
  const std::lock_guard lock(mutex_);
  auto queue = std::make_shared<EmulatedQueue>();
  queue->priority = random_();
  queues_.push_back(queue);
  return queue;
}

void EmulatedScheduler::drop_queue(const std::shared_ptr<EmulatedQueue>& queue) noexcept {
  const std::lock_guard lock(mutex_);
  if (!queue->operations.empty() && queue->operations.front().poll &&
      queue->operations.front().started) {
    finish(*queue, true);  // nobody polls it any more: it is not waited for either
  }
  queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end());
}

void EmulatedScheduler::enqueue(EmulatedQueue& queue, EmulatedOperation operation) {
  const std::lock_guard lock(mutex_);
  push(queue, std::move(operation));
  while (queued() > most_queued_ && step()) {
  }
}

void EmulatedScheduler::push(EmulatedQueue& queue, EmulatedOperation operation) {
  const std::lock_guard lock(mutex_);
  queue.operations.push_back(std::move(operation));
}

std::size_t EmulatedScheduler::queued() const noexcept {
  std::size_t sum = 0;
  for (const auto& queue : queues_) {
    sum += queue->operations.size();
  }
  return sum;
}

void EmulatedScheduler::run_until(const std::function<bool()>& reached) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (reached()) {
      return;
    }
    expect(!running_, "an operation of an emulated device waits for the device");
    if (step()) {
      continue;
    }
    if (in_flight_ == 0) {
      throw DeviceError("an emulated device waits for an event that nothing will reach");
    }
    lock.unlock();
    sched_yield();
  }
}

void EmulatedScheduler::drain(const EmulatedQueue& queue) {
  run_until([&queue] { return queue.operations.empty(); });
}

void EmulatedScheduler::drain() {
  run_until([this] { return queued() == 0; });
}

void EmulatedScheduler::progress(std::size_t operations) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < operations && step(); ++i) {
  }
}

/// Streams have priorities that are drawn anew now and then: a stream may be far ahead of the
/// others for a while, or be starved.
void EmulatedScheduler::shuffle() {
  if (random_() % 4 == 0) {
    for (const auto& queue : queues_) {
      queue->priority = random_();
    }
    std::sort(queues_.begin(), queues_.end(),
              [](const auto& a, const auto& b) { return a->priority < b->priority; });
  }
}

/// Runs one operation that can run. False: none can now.
bool EmulatedScheduler::step() {
  if (running_) {
    return false;
  }
  shuffle();
  const std::vector<std::shared_ptr<EmulatedQueue>> order = queues_;
  return std::any_of(order.begin(), order.end(), [this](const auto& queue) {
    return !queue->operations.empty() && run_head(*queue);
  });
}

bool EmulatedScheduler::run_head(EmulatedQueue& queue) {
  EmulatedOperation& head = queue.operations.front();
  if (head.await && !head.await->reached) {
    return false;
  }
  if (head.record) {
    head.record->reached = true;
    head.record->time = std::chrono::steady_clock::now();
  }
  const bool was_polled = head.poll != nullptr;
  try {
    if (!complete(queue)) {
      return false;
    }
  } catch (...) {
    finish(queue, was_polled);
    throw;
  }
  finish(queue, was_polled);
  return true;
}

/// Whether the head is done, after starting or polling it.
bool EmulatedScheduler::complete(EmulatedQueue& queue) {
  EmulatedOperation& head = queue.operations.front();
  if (!head.start && !head.poll) {
    return true;
  }
  const Running running(running_);
  const UnlockedMemory unlocked(memory_);
  if (!head.started) {
    head.started = true;
    if (head.poll) {  // peers may access the memory until it is complete
      memory_.unlock();
      ++in_flight_;
    }
    head.start();
  }
  return !head.poll || head.poll();
}

void EmulatedScheduler::finish(EmulatedQueue& queue, bool was_polled) {
  if (was_polled) {
    memory_.lock();
    --in_flight_;
  }
  queue.operations.pop_front();
}

}  // namespace sherd::runtime
