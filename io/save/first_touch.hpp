#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>

namespace sherd::io {

/// Has the system clear the pages of new memory on a thread of its own, so that who first writes
/// there need not wait for them. What it does not come to is cleared at its first use, as usual:
/// nothing here can fail.
class FirstTouch {
 public:
  FirstTouch() = default;
  FirstTouch(const FirstTouch&) = delete;
  FirstTouch& operator=(const FirstTouch&) = delete;
  ~FirstTouch() { end(); }

  /// `memory`, of whole pages that nobody uses yet, must stay until end().
  void begin(std::span<std::byte> memory);
  /// Returns at once, or after one more piece. The memory may be used then.
  void end() noexcept;
  /// Blocks until all is done.
  void wait() noexcept;

 private:
  void touch(std::span<std::byte> memory) const noexcept;

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sherd::io
