#pragma once

#include <string>
#include <string_view>

namespace sherd {

/// `text` as a terminal may show it: names out of files must not move its cursor or colour its
/// lines. Control characters but newline and tab, characters that turn the direction of writing,
/// and bytes that are no UTF-8 appear as \x1b. Local.
[[nodiscard]] std::string printable(std::string_view text);

/// The same without newlines and tabs: a name in a table or in the middle of a message.
[[nodiscard]] std::string printable_name(std::string_view text);

/// Whether all of it is UTF-8, as JSON and so a checkpoint's own texts must be.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace sherd
