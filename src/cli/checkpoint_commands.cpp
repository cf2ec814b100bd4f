#include "cli/checkpoint_commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::cli {

void print(const std::string& text) { std::fputs(printable(text).c_str(), stdout); }

void print(const nlohmann::json& json) {
  // Names on disk need not be UTF-8, nor what a terminal should be given.
  print(json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

std::string human(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024.0 && unit < 4; ++unit) {
    bytes /= 1024.0;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::filesystem::path step_folder(const std::string& path) {
  try {
    return io::resolve_checkpoint(path);
  } catch (const IoError& error) {
    throw ConfigError(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    throw ConfigError(fmt::format("'{}' cannot be read: {}. Try: another path, or its permissions",
                                  path, error.code().message()));
  }
}

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      terminal_(::isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

ProgressLine::~ProgressLine() {
  if (terminal_) {
    std::fputs("\r\x1b[K", stderr);  // the result says it all
  }
}

std::function<void(std::uint64_t, std::uint64_t)> ProgressLine::function() {
  if (!terminal_) {
    return {};
  }
  return [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
}

void ProgressLine::show(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) {
    return;
  }
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto bytes = static_cast<double>(done);
  std::fputs(fmt::format("\r\x1b[K{}: {} of {}, {:.2f} GB/s", what_, human(bytes),
                         human(static_cast<double>(total)), bytes * 1e-9 / seconds)
                 .c_str(),
             stderr);
}

int run_checkpoint(const Request& request) {
  switch (request.command) {
    case Command::checkpoint_ls:
      return list_directory(request);
    case Command::checkpoint_show:
      return show_checkpoint(request);
    case Command::checkpoint_verify:
      return verify_checkpoints(request);
    case Command::checkpoint_diff:
      return diff_checkpoints(request);
    case Command::checkpoint_consolidate:
      return consolidate(request);
    default:
      return export_model(request);
  }
}

}  // namespace sherd::cli
