#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "comm/nccl/nccl_library.hpp"

namespace sherd::comm::nccl {

/// One rank's end of an NCCL communicator: connecting, failing and ending, over calls that never
/// block. Whatever goes wrong aborts it, so that operations that wait for other ranks on the device
/// end, and so does every rank in turn. Not thread-safe.
class Connection {
 public:
  /// Connects to the ranks that have the same id; collective. Throws CommError when they have not
  /// all come within `limit`, ConfigError when two ranks use one GPU.
  Connection(Library& library, const UniqueId& id, int rank, int size,
             std::chrono::milliseconds limit);
  /// Ends in an orderly way, for which it waits at most as long as for connecting; aborts while an
  /// exception is on its way out: the other ranks may not come to an orderly end.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Makes one call, to its end. Throws CommError, naming `what`, when it fails or when the
  /// connection has been aborted.
  void call(const std::string& what, const std::function<Result(Library&, Library::Comm*)>& call);
  /// Throws CommError when something has gone wrong in the background.
  void check(const std::string& what);
  /// Ends whatever is under way, on the device too. May be called again.
  void abort() noexcept;
  [[nodiscard]] bool aborted() const noexcept { return comm_ == nullptr; }

 private:
  /// Waits until the communicator is not busy: success, an error, or in_progress when time is up.
  [[nodiscard]] Result settle(std::chrono::milliseconds limit);
  [[noreturn]] void fail(const std::string& what, Result result);
  [[noreturn]] void fail_to_connect(Result result);
  void end() noexcept;

  Library& library_;
  int rank_;
  int size_;
  std::chrono::milliseconds limit_;
  Library::Comm* comm_ = nullptr;
};

/// How long ranks wait for each other to connect: SHERD_COMM_TIMEOUT, but no longer than five
/// minutes.
[[nodiscard]] std::chrono::milliseconds connection_limit();

}  // namespace sherd::comm::nccl
