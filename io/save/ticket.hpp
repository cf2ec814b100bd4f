#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "io/save/chunks.hpp"
#include "sherd/io/save_ticket.hpp"

namespace sherd::io {

/// Shared between the caller and the background thread.
struct SaveTicket::Impl {
  Impl(std::int64_t number, std::shared_ptr<const StagingPlan> staging,
       std::chrono::steady_clock::time_point begun)
      : step(number), plan(std::move(staging)), start(begun) {}

  /// Enters `phase` and notes when.
  void advance(SavePhase to);
  /// The event has happened, but the phase is not to be seen yet.
  void note(SavePhase event);
  void fail(std::exception_ptr with);
  /// The last one means that all is staged.
  void chunk_staged();
  void wrote(std::uint64_t bytes);
  void add_stall(double seconds);
  [[nodiscard]] double seconds() const;  ///< since the save began
  [[nodiscard]] bool finished() const;
  void wait_finished() const;
  /// Until the first `chunks` of the plan are copied, or the save is over.
  void wait_chunks(std::size_t chunks);
  /// The failure, if there is one nobody has seen; the caller now has.
  [[nodiscard]] std::exception_ptr take_undelivered();
  [[nodiscard]] bool has_undelivered() const;

  const std::int64_t step;
  const std::shared_ptr<const StagingPlan> plan;
  const std::chrono::steady_clock::time_point start;
  void enter(SavePhase to);  ///< advance() with the mutex held
  void stamp(SavePhase event);

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  SavePhase phase = SavePhase::staging;
  SaveTimes times;
  double stall = 0;
  std::size_t chunks_staged = 0;
  std::uint64_t bytes_written = 0;
  std::exception_ptr error;
  bool delivered = false;
};

}  // namespace sherd::io
