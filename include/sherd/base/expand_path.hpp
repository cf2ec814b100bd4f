#pragma once

#include <filesystem>
#include <string_view>

namespace sherd {

/// A path as a user wrote it, with `~` and `~/` in front as the home folder, `$NAME` and `${NAME}`
/// as environment variables, and `$$` as one `$`. Throws ConfigError saying which variable is unset
/// or empty (the rest would name another place), that `~user` is not known, or that a `$` begins
/// nothing; the message has no advice, which depends on where the path stands. Local; reads the
/// environment.
[[nodiscard]] std::filesystem::path expand_path(std::string_view text);

}  // namespace sherd
