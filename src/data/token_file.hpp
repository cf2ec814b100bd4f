#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "data/id_format.hpp"
#include "data/mapped_file.hpp"
#include "sherd/config/train_config.hpp"

namespace sherd::data {

/// A file of token ids, mapped.
struct TokenFile {
  std::unique_ptr<MappedFile> file;
  std::size_t header_bytes = 0;
  IdFormat format;
  std::int64_t count = 0;  ///< of ids
};

/// llm.c's files (1024-byte header), or ids without a header as the configuration says. Throws
/// ConfigError naming the file: other kinds of files, a width that nobody states where 16 bits
/// cannot hold the vocabulary, ids that look like another width or byte order. Local.
[[nodiscard]] TokenFile open_token_file(const std::filesystem::path& path,
                                        const config::DataConfig& config, std::int64_t vocab_size);

}  // namespace sherd::data
