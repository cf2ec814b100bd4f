#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace sherd::io {

/// How far a save has come. The four events happen in this order.
enum class SavePhase : std::uint8_t { staging, staged, written, durable, committed, failed };

/// Seconds after save_async() began at which this rank saw each event; negative while it has not.
struct SaveTimes {
  double staged = -1;
  double written = -1;
  double durable = -1;
  double committed = -1;
};

/// Of this rank's part.
struct SaveProgress {
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_written = 0;
  double bytes_per_second = 0;  ///< since the save began; until written
  double seconds_left = 0;      ///< at that rate
};

/// One save in flight. Copyable handle; local calls, thread-safe.
class SaveTicket {
 public:
  SaveTicket() = default;
  [[nodiscard]] bool valid() const noexcept { return impl_ != nullptr; }
  [[nodiscard]] std::int64_t step() const;
  [[nodiscard]] SavePhase phase() const;
  /// Blocks until committed; rethrows what failed on this rank, or IoError naming the rank that
  /// did.
  void wait() const;
  /// Blocks until this rank's tensors of all stage groups up to `group` are copied (or the save has
  /// failed: what waits for memory need not care): they may be changed then. Adds to
  /// stall_seconds(). Returns at once on an invalid ticket.
  void wait_staged(int group) const;
  /// The same for everything.
  void wait_staged() const;
  /// Seconds the caller was held by this save so far: back-pressure, agreement, copying that did
  /// not happen in the background.
  [[nodiscard]] double stall_seconds() const;
  [[nodiscard]] SaveTimes times() const;
  [[nodiscard]] SaveProgress progress() const;

  struct Impl;
  explicit SaveTicket(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace sherd::io
