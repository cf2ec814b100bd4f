#include "comm/device/device_operations.hpp"

#include <sched.h>

#include <exception>
#include <utility>
#include <vector>

#include "comm/wait_watch.hpp"
#include "sherd/base/check.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/timeout.hpp"

namespace sherd::comm {
namespace {

class DeviceWork final : public WorkState {
 public:
  DeviceWork(std::shared_ptr<DeviceOperations> operations, std::string what, runtime::Event event)
      : operations_(std::move(operations)), what_(std::move(what)), event_(std::move(event)) {}

  bool test() override {
    operations_->device().progress();
    if (event_.done()) {
      return true;
    }
    operations_->check();
    return false;
  }
  void wait() override {
    operations_->check();
    operations_->device().compute_stream().wait(event_);
  }
  void synchronize() override {
    operations_->wait_on_host(event_, what_);
    operations_->device().compute_stream().wait(event_);
  }

 private:
  std::shared_ptr<DeviceOperations> operations_;
  std::string what_;
  runtime::Event event_;
};

/// Polls the event, and what `look` sees, until it is complete or time is up.
template <class Look>
void poll_until_done(const runtime::Event& event, std::chrono::milliseconds timeout,
                     const std::function<std::string()>& what, const Look& look) {
  WaitWatch watch(timeout);
  while (!event.done()) {
    look();
    progress_while_waiting();
    if (watch.left().count() <= 0) {
      fail_incomplete(what(), timeout);
    }
    sched_yield();
  }
}

}  // namespace

DeviceOperations::DeviceOperations(std::shared_ptr<runtime::Device> device, ErrorHooks error_hooks)
    : device_(std::move(device)),
      stream_(device_->make_stream()),
      error_hooks_(std::move(error_hooks)),
      timeout_(comm_timeout()) {}

Work DeviceOperations::issue(std::string what, const std::function<void()>& start) {
  while (!issued_.empty() && issued_.front().event.done()) {
    issued_.pop_front();
  }
  stream_->wait(device_->compute_stream().record());
  start();
  issued_.push_back({what, stream_->record()});
  return Work(
      std::make_unique<DeviceWork>(shared_from_this(), std::move(what), issued_.back().event));
}

void DeviceOperations::wait_on_host(const runtime::Event& event, const std::string& what) {
  try {
    poll_until_done(
        event, timeout_, [&] { return what; }, [this] { check(); });
  } catch (...) {
    abort();
    throw;
  }
}

void DeviceOperations::check() {
  if (error_hooks_.check) {
    error_hooks_.check(oldest());
  }
}

void DeviceOperations::abort() noexcept {
  if (error_hooks_.abort) {
    error_hooks_.abort();
  }
}

std::string DeviceOperations::oldest() {
  while (!issued_.empty() && issued_.front().event.done()) {
    issued_.pop_front();
  }
  return issued_.empty() ? "" : issued_.front().what;
}

void wait_on_host(const runtime::Event& event, std::span<Communicator* const> comms) {
  std::vector<DeviceOperations*> watched;
  for (Communicator* comm : comms) {
    if (DeviceOperations* operations = comm->capabilities().device; operations != nullptr) {
      watched.push_back(operations);
    }
  }
  const auto oldest = [&]() -> std::string {
    for (DeviceOperations* operations : watched) {
      if (std::string what = operations->oldest(); !what.empty()) {
        return what;
      }
    }
    return "work on the device";
  };
  try {
    poll_until_done(event, comm_timeout(), oldest, [&] {
      for (DeviceOperations* operations : watched) {
        operations->check();
      }
    });
  } catch (...) {
    for (DeviceOperations* operations : watched) {
      operations->abort();
    }
    throw;
  }
}

}  // namespace sherd::comm
