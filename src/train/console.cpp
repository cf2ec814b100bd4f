#include "sherd/train/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "sherd/base/printable.hpp"

namespace sherd::train {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr auto kLongestSilence = std::chrono::seconds(60);
constexpr auto kLiveInterval = std::chrono::milliseconds(100);

std::string duration_text(double seconds) {
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  if (total >= 3600) {
    return fmt::format("{}h{:02}m", total / 3600, total / 60 % 60);
  }
  return total >= 60 ? fmt::format("{}m{:02}s", total / 60, total % 60) : fmt::format("{}s", total);
}

/// 1234567 -> "1,234,567"
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

/// Whether a person watches standard output. mpirun gives every process a pseudo-terminal of its
/// own, so there it is mpirun's standard output that counts.
bool watched() {
  if (::isatty(STDOUT_FILENO) != 1) {
    return false;
  }
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) {
    return true;
  }
  std::error_code unknown;
  const auto launcher_stdout = std::filesystem::read_symlink(
      fmt::format("/proc/{}/fd/1", static_cast<long>(::getppid())), unknown);
  const std::string target = launcher_stdout.string();
  return !unknown && (target.rfind("/dev/pts/", 0) == 0 || target.rfind("/dev/tty", 0) == 0);
}

}  // namespace

ConsoleOptions console_options_for_stdout() {
  ConsoleOptions options;
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  options.live = watched() && (term == nullptr || std::string(term) != "dumb");
  options.color = options.live && (no_color == nullptr || *no_color == '\0');
  return options;
}

Console::Console(ConsoleOptions options) : options_(std::move(options)) {
  if (!options_.write) {
    options_.write = [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    };
  }
  if (!options_.now) {
    options_.now = [] { return steady_clock::now(); };
  }
  last_line_ = options_.now();
}

Console::~Console() {
  try {
    finish();
  } catch (...) {  // a progress line is never worth a failure
  }
}

double Console::eta_seconds() const noexcept {
  if (done_ < 2) {
    return -1.0;
  }
  const double spent = duration<double>(last_done_ - first_done_).count();
  return spent / static_cast<double>(done_ - 1) *
         static_cast<double>(options_.last_step - last_step_done_);
}

std::string Console::line(const StepMetrics& metrics, std::string_view checkpoint) const {
  const char* bold = options_.color ? "\x1b[1m" : "";
  const char* plain = options_.color ? "\x1b[0m" : "";
  std::string text = fmt::format(
      "step {}/{} | loss {}{:.4f}{} | grad_norm {:.3f} | lr {:.3g} | {} tok/s (all ranks) | {:.3f} "
      "s",
      metrics.step, options_.last_step, bold, metrics.loss, plain, metrics.grad_norm,
      metrics.learning_rate, grouped(metrics.tokens_per_second), metrics.step_seconds);
  if (const double eta = eta_seconds(); eta >= 0) {
    text.append(" | eta ").append(duration_text(eta));
  }
  if (!checkpoint.empty()) {
    text.append(" | ").append(checkpoint);
  }
  return text;
}

void Console::step(const StepMetrics& metrics, std::string_view checkpoint) {
  const auto now = options_.now();
  if (++done_ == 1) {
    first_done_ = now;
  }
  last_done_ = now;
  last_step_done_ = metrics.step;
  const bool edge = done_ == 1 || metrics.step == options_.last_step;
  if (options_.live) {
    if (edge || now - last_line_ >= kLiveInterval) {
      options_.write(std::string("\r\x1b[K").append(line(metrics, checkpoint)));
      line_open_ = true;
      last_line_ = now;
    }
    return;
  }
  const bool due = metrics.step % std::max<std::int64_t>(options_.interval, 1) == 0;
  if (edge || due || now - last_line_ >= kLongestSilence) {
    options_.write(line(metrics, checkpoint) + "\n");
    last_line_ = now;
  }
}

void Console::message(std::string_view text) {
  options_.write(std::string(line_open_ ? "\r\x1b[K" : "").append(printable(text)).append("\n"));
  line_open_ = false;
}

void Console::finish() {
  if (line_open_) {
    options_.write("\n");
    line_open_ = false;
  }
}

}  // namespace sherd::train
