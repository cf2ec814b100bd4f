#include "sherd/base/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "sherd/base/printable.hpp"

namespace sherd::log {
namespace {

struct State {
  State() : logger("sherd", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    const char* level = std::getenv("SHERD_LOG");
    logger.set_level(level == nullptr ? spdlog::level::info : spdlog::level::from_str(level));
    logger.set_pattern("%v");
    logger.flush_on(spdlog::level::info);
  }

  spdlog::logger logger;
  std::string prefix;
  bool first = true;
};

State& state() {
  static State instance;
  return instance;
}

void write(spdlog::level::level_enum level, std::string_view label,
           std::string_view text) noexcept {
  try {
    state().logger.log(level, "{}{}{}", state().prefix, label, printable(text));
  } catch (...) {  // a log line is never worth a failure
  }
}

}  // namespace

void set_rank(int rank, int size, std::string_view host) {
  state().first = rank == 0;
  state().prefix = size > 1 ? fmt::format("[rank {} @ {}] ", rank, host) : std::string();
}

void debug(std::string_view message) noexcept { write(spdlog::level::debug, "", message); }

void info(std::string_view message) noexcept {
  if (!state().first) {
    return;
  }
  try {
    state().logger.info("{}", printable(message));
  } catch (...) {
  }
}

void warning(std::string_view message) noexcept {
  write(spdlog::level::warn, "warning: ", message);
}

void error(std::string_view message) noexcept { write(spdlog::level::err, "error: ", message); }

}  // namespace sherd::log
