// Writes by threads that call pwrite, where io_uring cannot be had.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "io/disk/background_priority.hpp"
#include "io/save/write_queue.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::io {
namespace {

class ThreadQueue final : public WriteQueue {
 public:
  ThreadQueue(ShardWriter& writer, int threads) : writer_(writer) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;

  ~ThreadQueue() override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.clear();
      ended_ = true;
    }
    work_there_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  bool full() const override { return false; }

  void submit(const Write& write) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(write);
      ++under_way_;
    }
    work_there_.notify_one();
  }

  std::vector<Write> done(bool block) override {
    std::unique_lock lock(mutex_);
    if (block && under_way_ > 0) {
      finished_there_.wait(lock, [this] { return !finished_.empty() || error_ != nullptr; });
    }
    if (error_ != nullptr) {
      std::rethrow_exception(error_);
    }
    under_way_ -= finished_.size();
    return std::exchange(finished_, {});
  }

 private:
  void work() {
    runtime::leave_the_team();
    take_background_priority();
    std::unique_lock lock(mutex_);
    while (true) {
      work_there_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) {
        return;
      }
      const Write write = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      const std::exception_ptr error = perform(write);
      lock.lock();
      error_ = error_ == nullptr ? error : error_;
      finished_.push_back(write);
      finished_there_.notify_one();
    }
  }

  std::exception_ptr perform(const Write& write) const noexcept {
    try {
      writer_.write(write.data, write.offset, write.bytes);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  ShardWriter& writer_;
  std::mutex mutex_;
  std::condition_variable work_there_;
  std::condition_variable finished_there_;
  std::deque<Write> waiting_;
  std::vector<Write> finished_;
  std::size_t under_way_ = 0;
  std::exception_ptr error_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<WriteQueue> make_thread_queue(ShardWriter& writer, int threads) {
  return std::make_unique<ThreadQueue>(writer, threads);
}

}  // namespace sherd::io
