#pragma once

#include "cli/command_line.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/runtime/runtime.hpp"

/// Each runs one request and returns the exit code of the process. Errors are exceptions.
namespace sherd::cli {

/// Collective over all ranks; `world` connects them in the launch's order.
[[nodiscard]] int run_train(runtime::Runtime& runtime, comm::Communicator& world,
                            const Request& request);
[[nodiscard]] int run_info(const runtime::Runtime& runtime, const Request& request);
[[nodiscard]] int run_generate(const runtime::Runtime& runtime, const Request& request);

/// `sherd plan ...`: one process, no Runtime. kDoesNotFit when the plan needs more than --memory.
inline constexpr int kDoesNotFit = 3;
[[nodiscard]] int run_plan(const Request& request);

/// `sherd ckpt ...`: one process, no Runtime.
[[nodiscard]] int run_checkpoint(const Request& request);

}  // namespace sherd::cli
