#pragma once

#include <cstddef>

#include "sherd/runtime/block_pool.hpp"

namespace sherd {

/// The process's pool of host memory; never destroyed, so that storages may die after main().
/// Blocks are 64-byte aligned; those of 2 MiB and more are 2 MiB aligned and marked for huge pages,
/// because first touch of fresh 4 KiB pages is far slower than the kernels that use them.
[[nodiscard]] runtime::BlockPool& host_pool();

/// Throws std::bad_alloc when the system has no more, also after giving the pooled blocks back.
[[nodiscard]] std::byte* take_host_block(std::size_t bytes);

}  // namespace sherd
