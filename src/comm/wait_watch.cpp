#include "comm/wait_watch.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "sherd/base/error.hpp"
#include "sherd/comm/wait_observer.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::comm {
namespace {

/// A wait of this length is worth a look at the other ranks.
constexpr std::chrono::milliseconds kLong{1000};
constexpr std::chrono::milliseconds kBetweenCalls{250};

WaitObserver*& observer_of_this_thread() noexcept {
  thread_local WaitObserver* observer = nullptr;
  return observer;
}

const std::function<void()>*& progress_of_this_thread() noexcept {
  thread_local const std::function<void()>* progress = nullptr;
  return progress;
}

}  // namespace

ScopedWaitProgress::ScopedWaitProgress(const std::function<void()>& call) noexcept
    : previous_(std::exchange(progress_of_this_thread(), &call)) {}

ScopedWaitProgress::~ScopedWaitProgress() { progress_of_this_thread() = previous_; }

WithoutProgress::WithoutProgress() noexcept
    : previous_(std::exchange(progress_of_this_thread(), nullptr)) {}

WithoutProgress::~WithoutProgress() { progress_of_this_thread() = previous_; }

bool progress_device() {
  runtime::Device* device = runtime::current_device();
  if (device != nullptr) {
    device->progress();
  }
  return device != nullptr;
}

bool progress_while_waiting() {
  const bool on_device = progress_device();
  const std::function<void()>* progress = progress_of_this_thread();
  if (progress == nullptr) {
    return on_device;
  }
  const WithoutProgress not_again;
  (*progress)();
  return true;
}

ScopedWaitObserver::ScopedWaitObserver(WaitObserver& observer) noexcept
    : previous_(observer_of_this_thread()) {
  observer_of_this_thread() = &observer;
}

ScopedWaitObserver::~ScopedWaitObserver() { observer_of_this_thread() = previous_; }

WaitWatch::WaitWatch(std::chrono::milliseconds timeout)
    : start_(Clock::now()), next_call_(start_ + kLong), timeout_(timeout) {}

std::chrono::milliseconds WaitWatch::left() {
  const auto now = Clock::now();
  WaitObserver* observer = observer_of_this_thread();
  if (observer != nullptr && now >= next_call_) {
    next_call_ = now + kBetweenCalls;
    observer->waited(std::chrono::duration_cast<std::chrono::milliseconds>(now - start_));
  }
  return std::chrono::ceil<std::chrono::milliseconds>(start_ + timeout_ - now);
}

void ask_observer() {
  if (WaitObserver* observer = observer_of_this_thread(); observer != nullptr) {
    observer->waited(std::chrono::milliseconds(0));
  }
}

std::string what_others_do() {
  WaitObserver* observer = observer_of_this_thread();
  if (observer == nullptr) {
    return {};
  }
  try {
    const std::string known = observer->describe();
    return known.empty() ? known : " " + known;
  } catch (const std::exception& failure) {
    return std::string(" (the other ranks could not be asked: ") + failure.what() + ")";
  }
}

void fail_incomplete(const std::string& operation, std::chrono::milliseconds timeout) {
  throw CommError(fmt::format(
      "{} was not complete after {} s (another rank has failed, or has not called it). Try: look "
      "for an error on the other ranks, or a larger SHERD_COMM_TIMEOUT.{}",
      operation, std::chrono::duration<double>(timeout).count(), what_others_do()));
}

}  // namespace sherd::comm
