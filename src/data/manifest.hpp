#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_stream.hpp"
#include "sherd/config/train_config.hpp"

namespace sherd::data {

/// What decides which tokens step t reads, as JSON. Files are told apart by size and hash (XXH3; of
/// files above 64 MiB 1 MiB at each end and 62 blocks of 1 MiB between), not by name.
[[nodiscard]] std::string make_manifest(const TokenStream& stream, const config::DataConfig& config,
                                        std::int64_t global_batch_size, std::uint64_t seed);

/// What differs between two manifests, one text each.
[[nodiscard]] std::vector<std::string> manifest_changes(const std::string& saved,
                                                        const std::string& now);

}  // namespace sherd::data
