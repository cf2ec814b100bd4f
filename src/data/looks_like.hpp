#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "data/id_format.hpp"

namespace sherd::data {

/// Which format a stream of ids without a header has, judged by whether its ids, in samples from
/// all over it, are below the vocabulary's size. Local.

/// What the bytes look like, where no format was stated; none where no reading of them fits.
[[nodiscard]] std::optional<IdFormat> likely_format(std::span<const std::byte> bytes,
                                                    std::int64_t vocab_size);

/// Another format that the bytes look like than the one they are to be read in; none where nothing
/// speaks clearly against that one. Few or constant ids say nothing.
[[nodiscard]] std::optional<IdFormat> contradicting_format(std::span<const std::byte> bytes,
                                                           const IdFormat& stated,
                                                           std::int64_t vocab_size);

}  // namespace sherd::data
