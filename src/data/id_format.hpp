#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sherd/config/train_config.hpp"

namespace sherd::data {

/// How token ids lie in a file.
struct IdFormat {
  using ByteOrder = config::DataConfig::ByteOrder;
  int bytes = 2;  ///< 1, 2, 4 or 8
  ByteOrder order = ByteOrder::little;

  friend bool operator==(const IdFormat&, const IdFormat&) = default;
};

/// "16-bit little-endian ids"
[[nodiscard]] std::string to_string(const IdFormat& format);

/// The id that begins at `from`. Local.
[[nodiscard]] std::uint64_t id_at(const std::byte* from, const IdFormat& format);

/// Turns ids into i32, up to the first that is not below `limit` (at most 2^31). Returns how many
/// were turned. Local.
[[nodiscard]] std::size_t widen_ids(const std::byte* from, const IdFormat& format,
                                    std::uint64_t limit, std::span<std::int32_t> out);

}  // namespace sherd::data
