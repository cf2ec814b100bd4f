#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sherd::config {

/// Insertions, deletions and substitutions that make `b` of `a` (Levenshtein's distance), ignoring
/// case.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, or "" when none is near enough to be what was meant.
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       const std::vector<std::string>& candidates);

}  // namespace sherd::config
