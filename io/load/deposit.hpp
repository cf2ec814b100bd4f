#pragma once

#include <cstddef>
#include <span>

#include "io/load/read_chunks.hpp"

namespace sherd::io {

/// Copies what this rank holds of a chunk to its place in the state's tensors, converted where the
/// stored dtype is another one. Local; thread-safe for different chunks of one load.
void deposit(const ReadList& list, const ReadChunk& chunk, std::span<const std::byte> bytes,
             std::span<const LoadItem> items, int rank);

}  // namespace sherd::io
