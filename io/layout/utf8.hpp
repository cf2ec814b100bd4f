#pragma once

#include <string>
#include <string_view>

namespace sherd::io {

/// Whether a text is UTF-8 (Unicode 15, table 3-7) without NUL.
[[nodiscard]] bool is_utf8_without_nul(std::string_view text) noexcept;

/// The text for a message: bytes that are no UTF-8, and controls, as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace sherd::io
