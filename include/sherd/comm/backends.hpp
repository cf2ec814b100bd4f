#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/comm/communicator.hpp"
#include "sherd/runtime/stream.hpp"

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

/// The `nccl` backend, on memory of the thread's CUDA device. Its id travels by a broadcast on
/// `bootstrap`, whose ranks it gets. Collective, blocking. Operations run in issue order on a
/// stream of the communicator's own: use one communicator for gathers and another for reductions.
/// Throws ConfigError with the reason where NCCL cannot be used, CommError when the ranks do not
/// all connect in time.
[[nodiscard]] std::unique_ptr<Communicator> make_nccl(Communicator& bootstrap);

/// The ranks of `host` again, working on memory of the thread's device: on a CUDA device by NCCL,
/// on an emulated one by `host` itself, one rank alone by copies. Collective, blocking.
[[nodiscard]] std::unique_ptr<Communicator> make_on_device(Communicator& host);

/// Blocks until `event` is complete, looking after what `comms` have issued meanwhile (those on
/// host memory are passed over): an operation that fails in the background, one that is stuck
/// longer than SHERD_COMM_TIMEOUT, and what the thread's WaitObserver finds end the wait; all of
/// `comms` are aborted before that is thrown, so that the other ranks end as well. Local. For the
/// host's own waits for a device, once a step.
void wait_on_host(const runtime::Event& event, std::span<Communicator* const> comms);

}  // namespace sherd::comm
