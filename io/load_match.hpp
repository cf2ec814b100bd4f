#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "io/manifest.hpp"
#include "sherd/dtensor/state_dict.hpp"

namespace sherd::io {

/// The record each tensor of a state is loaded from, in key order. A key may be any name of a
/// stored tensor. Throws ConfigError ("a checkpoint of another model") naming the first differences
/// when names, shapes or dtypes differ in either direction.
[[nodiscard]] std::vector<const TensorRecord*> match_tensors(const Manifest& manifest,
                                                             const dtensor::StateDict& state,
                                                             const std::filesystem::path& folder);

/// By key or alias; null when there is none.
[[nodiscard]] const TensorRecord* find_tensor(const Manifest& manifest, std::string_view key);

}  // namespace sherd::io
