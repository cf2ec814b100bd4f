#pragma once

#include <CLI/CLI.hpp>

#include "cli/command_line.hpp"

namespace sherd::cli {

/// Adds `sherd ckpt ...`; what is parsed goes into `request`, which must outlive `app`.
void add_checkpoints(CLI::App& app, Request& request);

}  // namespace sherd::cli
