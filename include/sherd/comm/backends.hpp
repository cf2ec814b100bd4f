#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

/// Whether a backend can be used here, and if not a reason a person can act on.
struct BackendStatus {
  std::string name;
  bool available = false;
  std::string reason;  ///< version or detail when available, else why not
};

/// All backends this build knows, in the order `sherd info` prints them. Local.
[[nodiscard]] std::vector<BackendStatus> backend_statuses();

/// One rank, no library.
[[nodiscard]] std::unique_ptr<Communicator> make_self();

/// Runs `body(communicator)` on `ranks` threads of this process, each with its own `inproc`
/// communicator of that size; returns when all have ended and rethrows the first exception.
void run_inproc(int ranks, const std::function<void(Communicator&)>& body);

/// The `nccl` backend: buffers are device memory of the current CUDA device. Its id travels by a
/// broadcast on `bootstrap`, whose ranks it gets. Collective, blocking. Operations run on a stream
/// of the communicator's own: their inputs must be complete when they are issued, their results are
/// there when the Work says so. Throws ConfigError with the reason where NCCL cannot be used.
[[nodiscard]] std::unique_ptr<Communicator> make_nccl(Communicator& bootstrap);

}  // namespace sherd::comm
