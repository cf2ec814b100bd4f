#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace sherd::runtime {

class Device;

/// What an Event points at; one subclass per kind of device.
class EventState {
 public:
  virtual ~EventState() = default;
  [[nodiscard]] virtual bool done() = 0;
  virtual void synchronize() = 0;
  /// Seconds from `earlier` (of the same device) to this; both complete and recorded as timed.
  [[nodiscard]] virtual double seconds_since(EventState& earlier) = 0;
};

/// A point in a stream: complete when all work issued to the stream before it is. Copies are the
/// same point. A default-made Event is complete.
class Event {
 public:
  Event() noexcept = default;
  explicit Event(std::shared_ptr<EventState> state) noexcept : state_(std::move(state)) {}

  /// Never blocks. Throws DeviceError when the device failed.
  [[nodiscard]] bool done() const { return !state_ || state_->done(); }
  /// Blocks the calling thread. Throws DeviceError when the device failed.
  void synchronize() const {
    if (state_) {
      state_->synchronize();
    }
  }
  /// Both complete, and recorded with Timing::on on streams of one device. Throws ArgumentError.
  [[nodiscard]] double seconds_since(const Event& earlier) const;
  [[nodiscard]] EventState* state() const noexcept { return state_.get(); }

 private:
  std::shared_ptr<EventState> state_;
};

enum class Timing : bool { off, on };

/// Work that a device does in the order it was issued. Streams are not ordered among each other
/// except by events:
///
///     const Event written = compute.record();
///     gathers.wait(written);             // what is issued to `gathers` from here on comes after
///
/// Nothing here blocks the host but synchronize().
class Stream {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] virtual Event record(Timing timing = Timing::off) = 0;
  /// Later work of this stream waits for `event` (of any stream of the same device).
  virtual void wait(const Event& event) = 0;

  /// Copies between device memory and device or pinned memory; all of it stays untouched by others
  /// until the stream is past the copy. Ranges do not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Copies host memory to the device in stream order; `from` may be reused when it returns.
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  /// Fills device memory with zero bytes.
  virtual void fill_zero(void* data, std::size_t bytes) = 0;
  /// Runs a host function in stream order, on a thread of the device's choice; it uses neither
  /// device memory nor this interface, and throws nothing.
  virtual void run(std::function<void()> function) = 0;

  /// Blocks until all work issued so far is done. Throws DeviceError when the device failed.
  virtual void synchronize() = 0;

  /// The cudaStream_t; null on an emulated device.
  [[nodiscard]] virtual void* native() const noexcept = 0;

 protected:
  Stream() = default;
};

}  // namespace sherd::runtime
