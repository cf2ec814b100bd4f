#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sherd::io {

/// A name that a JSON object gives twice; none if there is none, or the text is no JSON. (A parser
/// keeps the last of the two in silence.) Linear in the text. Local.
[[nodiscard]] std::optional<std::string> repeated_name(std::string_view json);

}  // namespace sherd::io
