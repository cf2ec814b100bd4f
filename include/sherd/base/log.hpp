#pragma once

#include <string_view>

namespace sherd::log {

/// Says which rank speaks: INFO lines appear on rank 0 only, warnings and errors on every rank with
/// "[rank 3 @ host]" in front. Until it is called the process counts as rank 0 of 1.
/// Level from the environment variable SHERD_LOG: debug, info (default), warning, error, off.
void set_rank(int rank, int size, std::string_view host);

/// Local, never throws. All of them write one line to standard error.
void debug(std::string_view message) noexcept;
void info(std::string_view message) noexcept;
void warning(std::string_view message) noexcept;
void error(std::string_view message) noexcept;

}  // namespace sherd::log
