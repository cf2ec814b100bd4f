#pragma once

namespace sherd::cli {

/// The whole program `sherd`; returns the process's exit code. For a program with model families of
/// its own: register them, then call this.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace sherd::cli
