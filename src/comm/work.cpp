#include "sherd/comm/work.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "sherd/base/log.hpp"

namespace sherd::comm {
namespace {

/// How long an operation is waited for that is dropped because of an exception. The other ranks may
/// never join it, and the exception must get out.
constexpr std::chrono::seconds kGraceWhileUnwinding{1};
/// An operation that was given up so recently means that others of its scope will not end either.
constexpr std::chrono::seconds kRecently{5};

using Clock = std::chrono::steady_clock;

/// When this thread has given up an operation.
std::optional<Clock::time_point>& given_up() noexcept {
  thread_local std::optional<Clock::time_point> when;
  return when;
}

std::chrono::seconds grace() noexcept {
  const auto& when = given_up();
  return when && Clock::now() - *when < kRecently ? std::chrono::seconds(0) : kGraceWhileUnwinding;
}

bool finishes_within(WorkState& state, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!state.test()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

Work::Work(std::unique_ptr<WorkState> state) noexcept : state_(std::move(state)) {}

Work& Work::operator=(Work&& other) noexcept {
  if (this != &other) {
    drop();
    state_ = std::move(other.state_);
  }
  return *this;
}

Work::~Work() { drop(); }

bool Work::test() {
  if (state_ == nullptr) {
    return true;
  }
  bool done = false;
  try {
    done = state_->test();
  } catch (...) {
    state_.reset();
    throw;
  }
  if (done) {
    state_.reset();
  }
  return done;
}

void Work::wait() {
  if (state_ != nullptr) {
    const std::unique_ptr<WorkState> state = std::move(state_);
    state->wait();
  }
}

void Work::synchronize() {
  if (state_ != nullptr) {
    const std::unique_ptr<WorkState> state = std::move(state_);
    state->synchronize();
  }
}

void Work::drop() noexcept {
  if (state_ == nullptr) {
    return;
  }
  try {
    if (std::uncaught_exceptions() == 0) {
      wait();
    } else if (finishes_within(*state_, grace())) {
      state_.reset();
    } else {
      given_up() = Clock::now();
      static_cast<void>(state_.release());  // MPI may still write where it points
      log::warning("a collective operation was given up unfinished because of an exception");
    }
  } catch (const std::exception& failure) {
    log::warning(std::string("a dropped collective operation failed: ") + failure.what());
  }
}

}  // namespace sherd::comm
