#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "sherd/config/train_config.hpp"

namespace sherd::data {

/// Throws ConfigError, saying what to do instead, when a file given as token ids is of another kind
/// by its first bytes: numpy's, compressed, a container, text. Local.
void refuse_other_kinds(const std::filesystem::path& file, std::span<const std::byte> bytes,
                        std::int64_t vocab_size);

/// Throws ConfigError when Megatron's index lies beside the file, unless the configuration says how
/// wide the ids are, and the index says the same. Local.
void refuse_indexed(const std::filesystem::path& file, int token_bytes);

}  // namespace sherd::data
