#pragma once

#include <cstddef>

namespace sherd::comm {

/// Throws CommError when the file system under shared windows (/dev/shm) has fewer than `bytes`
/// free: it promises memory it does not have, and the first touch past its end would kill the
/// process. SHERD_TEST_SHM_FREE=bytes stands in for the free space in tests.
void require_shared_space(std::size_t bytes);

}  // namespace sherd::comm
