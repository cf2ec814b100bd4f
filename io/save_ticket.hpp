#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>

#include "sherd/io/checkpointer.hpp"

namespace sherd::io {

/// Shared between the caller and the background thread.
struct SaveTicket::Impl {
  explicit Impl(std::int64_t number) : step(number) {}

  void advance(SavePhase to);
  void fail(std::exception_ptr with);
  [[nodiscard]] bool finished() const;
  void wait_finished() const;
  /// The failure, if there is one nobody has seen; the caller now has.
  [[nodiscard]] std::exception_ptr take_undelivered();
  [[nodiscard]] bool has_undelivered() const;

  const std::int64_t step;
  double stall_seconds = 0;  ///< set before the ticket is handed out
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  SavePhase phase = SavePhase::staging;
  std::exception_ptr error;
  bool delivered = false;
};

}  // namespace sherd::io
