#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sherd/train/metrics.hpp"

namespace sherd::train {

struct ConsoleOptions {
  std::int64_t first_step = 1;  ///< the first this run does
  std::int64_t last_step = 1;
  std::int64_t interval = 1;  ///< steps between plain lines
  bool live = false;          ///< one line rewritten in place
  bool color = false;
  /// Where text goes and what time it is; defaults: standard output, the steady clock.
  std::function<void(std::string_view)> write;
  std::function<std::chrono::steady_clock::time_point()> now;
};

/// live and color from standard output being a terminal, NO_COLOR and TERM.
[[nodiscard]] ConsoleOptions console_options_for_stdout();

/// Progress for people: a live line on a terminal, else a plain line every `interval` steps and at
/// least every 60 s. Rank 0 only; local.
class Console {
 public:
  explicit Console(ConsoleOptions options);
  ~Console();  ///< ends the live line
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// After a step. `checkpoint` is the state of the save in flight ("", "writing step 5", ...).
  void step(const StepMetrics& metrics, std::string_view checkpoint = "");
  /// A line of its own, above the live line.
  void message(std::string_view text);
  /// Ends the live line.
  void finish();

  /// Remaining seconds from the steps after the first; negative until it is known.
  [[nodiscard]] double eta_seconds() const noexcept;

 private:
  [[nodiscard]] std::string line(const StepMetrics& metrics, std::string_view checkpoint) const;

  ConsoleOptions options_;
  std::chrono::steady_clock::time_point last_line_;
  std::chrono::steady_clock::time_point first_done_;
  std::chrono::steady_clock::time_point last_done_;
  std::int64_t done_ = 0;
  std::int64_t last_step_done_ = 0;
  bool line_open_ = false;
};

}  // namespace sherd::train
