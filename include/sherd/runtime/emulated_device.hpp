#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "sherd/runtime/device.hpp"

namespace sherd::runtime {

struct EmulatedOptions {
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< address space; pages are touched on use
  /// Which of the streams whose next operation can run goes on is drawn with this seed; streams
  /// that are not ordered by events overtake each other now under one seed, now under another.
  std::uint64_t seed = 0;
  /// The host cannot touch device memory outside of operations: SIGSEGV.
  bool protect_memory = true;
  /// Fresh memory, and released memory once the compute stream gets there, holds NaN (all ones).
  bool poison_memory = true;
  /// Operations that may wait in queues; they run when somebody waits, or when there are more.
  std::size_t queued_operations = 256;
};

/// A device for tests of everything that orders work on a GPU: its memory is host memory behind
/// lock, its streams are queues that the waiting host works off. One rank's thread issues to it;
/// other threads may wait for events.
[[nodiscard]] std::shared_ptr<Device> make_emulated(const EmulatedOptions& options = {});

/// A stream of an emulated device.
class EmulatedStream : public Stream {
 public:
  /// Runs `operation` in stream order, with the device's memory unlocked. What it throws comes out
  /// of whatever waits for it.
  virtual void execute(std::function<void()> operation) = 0;
  /// An operation that completes by itself, such as a collective: `start` runs when it is its turn,
  /// the stream goes on when `poll` returns true; other streams go on in between. From `start` to
  /// that moment the memory is unlocked, so that peers can read and write it.
  virtual void run_polled(std::function<void()> start, std::function<bool()> poll) = 0;
};

/// Null for a stream of another kind of device.
[[nodiscard]] EmulatedStream* as_emulated(Stream& stream) noexcept;

}  // namespace sherd::runtime
