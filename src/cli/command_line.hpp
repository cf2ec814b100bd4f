#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sherd/plan/plan.hpp"

namespace sherd::cli {

enum class Command : std::uint8_t {
  train,
  plan,
  info,
  generate,
  checkpoint_ls,
  checkpoint_show,
  checkpoint_verify,
  checkpoint_diff,
  checkpoint_consolidate,
  checkpoint_export
};

/// What `sherd plan` has beside a configuration.
struct PlanOptions {
  std::string preset;
  std::string model;  ///< config.json or its folder
  std::optional<int> nodes;
  std::optional<int> ranks_per_node;
  int threads = 1;
  bool no_shared_memory = false;
  plan::PlanChanges changes;
  std::string memory;
  bool json = false;
};

/// What the `sherd ckpt` commands have beside the checkpoint.
struct CheckpointOptions {
  std::string other;                ///< diff
  std::string tensor;               ///< show
  std::optional<double> tolerance;  ///< diff
  std::string output;               ///< consolidate: a file; export: a folder
  bool verify = true;               ///< all that read tensors
  std::string dtype = "f32";        ///< export
  double file_gigabytes = 5.0;      ///< export
  bool all = false;                 ///< export
  int threads = 0;                  ///< verify
  bool json = false;
};

/// What the user asked for, as typed.
struct Request {
  Command command = Command::info;
  std::string config;                  ///< train, plan
  std::vector<std::string> overrides;  ///< train, plan
  PlanOptions plan;
  bool dry_run = false;           ///< train
  bool json = false;              ///< info
  std::string checkpoint;         ///< generate, ckpt
  std::string prompt;             ///< generate
  std::int64_t max_tokens = 200;  ///< generate
  double temperature = 0.8;       ///< generate
  std::uint64_t seed = 0;         ///< generate
  CheckpointOptions ckpt;
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
