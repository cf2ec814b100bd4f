#pragma once

#include <cstddef>

namespace sherd::comm {

/// Where shared memory lies: in the node's memory or, where processes cannot hand each other files
/// without a name, in /dev/shm.
enum class SharedPlace { memory, dev_shm };

/// Throws CommError when `place` has fewer than `bytes` free: the system promises memory that it
/// does not have, and the first touch past its end would kill the process. Unknown is enough.
/// SHERD_TEST_SHM_FREE=bytes stands in for the free space in tests.
void require_shared_space(std::size_t bytes, SharedPlace place = SharedPlace::memory);

}  // namespace sherd::comm
