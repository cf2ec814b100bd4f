#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/command_line.hpp"

/// The `sherd ckpt` commands; each returns the exit code. docs/checkpoints.md has the JSON.
namespace sherd::cli {

[[nodiscard]] int list_directory(const Request& request);
[[nodiscard]] int show_checkpoint(const Request& request);
[[nodiscard]] int verify_checkpoints(const Request& request);
[[nodiscard]] int diff_checkpoints(const Request& request);
[[nodiscard]] int consolidate(const Request& request);
[[nodiscard]] int export_model(const Request& request);

/// The committed checkpoint that `path` names. Throws ConfigError when there is none.
[[nodiscard]] std::filesystem::path step_folder(const std::string& path);

void print(const std::string& text);
void print(const nlohmann::json& json);
/// "1.5 MiB"
[[nodiscard]] std::string human(double bytes);

/// A line about how far something has come, on standard error when that is a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// To be called with bytes done and bytes in all, while this lives; empty without a terminal.
  [[nodiscard]] std::function<void(std::uint64_t, std::uint64_t)> function();

 private:
  void show(std::uint64_t done, std::uint64_t total);

  std::string what_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace sherd::cli
