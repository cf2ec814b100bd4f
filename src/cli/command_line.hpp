#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sherd::cli {

enum class Command : std::uint8_t {
  train,
  info,
  generate,
  checkpoint_ls,
  checkpoint_show,
  checkpoint_verify,
  checkpoint_export
};

/// What the user asked for, as typed.
struct Request {
  Command command = Command::info;
  std::string config;                  ///< train
  std::vector<std::string> overrides;  ///< train
  bool dry_run = false;                ///< train
  std::string checkpoint;              ///< generate, ckpt
  std::string prompt;                  ///< generate
  std::int64_t max_tokens = 200;       ///< generate
  double temperature = 0.8;            ///< generate
  std::uint64_t seed = 0;              ///< generate
  std::string folder;                  ///< ckpt export
  std::string dtype = "f32";           ///< ckpt export
  double file_gigabytes = 5.0;         ///< ckpt export
};

/// A request, or what to print and the exit code to end with.
struct ParsedCommandLine {
  std::optional<Request> request;
  int exit_code = 0;
  std::string text;
};

/// Reads the command line; starts nothing, prints nothing.
[[nodiscard]] ParsedCommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace sherd::cli
