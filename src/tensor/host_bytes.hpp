#pragma once

#include <cstddef>

namespace sherd {

/// memmove and memset to 0 by the threads of the calling thread's team, where that is worth while.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);
void clear_bytes(std::byte* to, std::size_t bytes);

}  // namespace sherd
