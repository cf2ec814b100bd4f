#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "sherd/comm/work.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::comm {

/// What a communicator on a device has issued: its operations run one after the other on a stream
/// of its own, each behind what the compute stream had been given when it was issued. Their Works
/// make the compute stream wait, not the host. One thread uses it.
class DeviceOperations : public std::enable_shared_from_this<DeviceOperations> {
 public:
  /// What the backend does about errors: `check(what)` throws when something has gone wrong in
  /// the background, `abort` makes every operation under way end somehow.
  struct ErrorHooks {
    std::function<void(const std::string& what)> check;
    std::function<void()> abort;
  };

  DeviceOperations(std::shared_ptr<runtime::Device> device, ErrorHooks error_hooks);

  [[nodiscard]] runtime::Stream& stream() const noexcept { return *stream_; }
  [[nodiscard]] runtime::Device& device() const noexcept { return *device_; }

  /// Issues one operation; `start` gives it to stream().
  [[nodiscard]] Work issue(std::string what, const std::function<void()>& start);

  /// Blocks until `event` is complete. What ends the wait early (an error, a timeout, what the
  /// thread's WaitObserver throws) aborts the communicator first. `what` names it for messages.
  void wait_on_host(const runtime::Event& event, const std::string& what);
  /// Throws CommError when something has gone wrong.
  void check();
  void abort() noexcept;
  /// The oldest operation that is not complete; empty when there is none.
  [[nodiscard]] std::string oldest();

 private:
  struct Issued {
    std::string what;
    runtime::Event event;
  };

  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Stream> stream_;
  ErrorHooks error_hooks_;
  std::chrono::milliseconds timeout_;
  std::deque<Issued> issued_;  // from the oldest that was not complete on
};

}  // namespace sherd::comm
