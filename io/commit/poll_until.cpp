// Waiting for files of other ranks: the background thread of a save may not call MPI.
#include "io/commit/poll_until.hpp"

#include <algorithm>
#include <thread>

namespace sherd::io {

bool poll_until(std::chrono::duration<double> timeout, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  auto pause = std::chrono::milliseconds(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace sherd::io
