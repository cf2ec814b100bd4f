#include "sherd/train/stop_signal.hpp"

#include <array>
#include <csignal>

namespace sherd::train {
namespace {

constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

// A handler can reach nothing else.
volatile std::sig_atomic_t received = 0;
std::array<struct sigaction, kSignals.size()> previous;
int alive = 0;  // StopSignals; the first installs the handlers, the last puts the old ones back

extern "C" void on_signal(int number) {
  if (received == 0) {
    received = number;
  } else if (number == SIGINT) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

}  // namespace

StopSignal::StopSignal() {
  if (alive++ > 0) {
    return;
  }
  received = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &previous[i]);
  }
}

StopSignal::~StopSignal() {
  if (--alive > 0) {
    return;
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &previous[i], nullptr);
  }
}

bool StopSignal::requested() const noexcept { return received != 0; }
int StopSignal::number() const noexcept { return received; }

}  // namespace sherd::train
