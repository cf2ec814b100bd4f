#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sherd::io {

/// Throws DamagedError when a number of a manifest is not a whole one that its field can hold, or a
/// tensor's shape has more elements than can be counted: reading it would cast silently.
void refuse_impossible_numbers(const nlohmann::json& manifest);

}  // namespace sherd::io
