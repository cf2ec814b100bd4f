#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/token_file.hpp"

namespace sherd::data {

/// Token files or text files one after the other, as one list of token ids. Local.
class TokenStream {
 public:
  /// data.tokens of a configuration, as open_token_file() reads each. Throws ConfigError naming the
  /// file.
  static TokenStream from_token_files(const config::DataConfig& config, std::int64_t vocab_size);
  /// Files, and all regular files below folders in the order of their names (hidden ones and second
  /// names of the same file left out); a byte is a token.
  static TokenStream from_text(const std::vector<std::filesystem::path>& paths);

  [[nodiscard]] std::int64_t size() const noexcept;
  /// Tokens first .. first+out.size()-1. Throws ConfigError naming file, position and value of one
  /// that is not below `vocab_size`.
  void copy(std::int64_t first, std::int64_t vocab_size, std::span<std::int32_t> out) const;

  /// One file's part of the stream.
  struct Part : TokenFile {
    std::int64_t first = 0;  ///< position of its first token in the stream
  };
  [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }

 private:
  void add(Part part);

  std::vector<Part> parts_;
};

}  // namespace sherd::data
