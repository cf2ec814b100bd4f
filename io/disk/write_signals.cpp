#include "io/disk/write_signals.hpp"

#include <pthread.h>

#include <array>
#include <cerrno>
#include <ctime>

namespace sherd::io {
namespace {

constexpr std::array<int, 2> kWriteSignals{SIGXFSZ, SIGPIPE};

}  // namespace

WriteSignals::WriteSignals() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : kWriteSignals) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

/// What came meanwhile is taken off before the signals are let through again.
WriteSignals::~WriteSignals() {
  const int error = errno;
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : kWriteSignals) {
    if (sigismember(&before_, number) == 0) {
      sigaddset(&ours, number);
    }
  }
  const timespec at_once{};
  while (sigtimedwait(&ours, nullptr, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace sherd::io
