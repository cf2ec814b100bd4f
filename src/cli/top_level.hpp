#pragma once

#include <functional>

#include "sherd/comm/communicator.hpp"
#include "sherd/runtime/runtime.hpp"

namespace sherd::cli {

/// Exit codes of the program beside 0 and train::kStoppedEarly.
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;

/// Runs `body` on every rank and turns exceptions into exit codes. A ConfigError that all ranks
/// threw is printed once by rank 0, and all return kBadInput. One that only some ranks threw
/// (nobody else arrives within seconds), and any other exception, is printed by the rank it
/// happened on, which then ends the whole launch. Collective.
[[nodiscard]] int run_on_all_ranks(runtime::Runtime& runtime,
                                   const std::function<int(comm::Communicator&)>& body);

/// The same for a command of one process without MPI.
[[nodiscard]] int run_alone(const std::function<int()>& body);

}  // namespace sherd::cli
