#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sherd::comm {

/// A counter in shared memory that one rank raises and others wait for. All-zero memory is a valid
/// cell. Sleeping uses a futex that works across processes.
struct alignas(64) EpochCell {
  std::atomic<std::uint64_t> epoch;
  mutable std::atomic<std::uint32_t> sleepers;
};
static_assert(sizeof(EpochCell) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Raises the cell to `epoch` and wakes who sleeps on it. Releases everything written before.
void post(EpochCell& cell, std::uint64_t epoch) noexcept;

enum class Waited { reached, timed_out, rank_failed };

/// How long to spin before sleeping, and when to give up.
struct Patience {
  int spins = 0;                                       ///< checks before the first sleep
  std::chrono::milliseconds timeout{0};                ///< for the whole wait
  const std::atomic<std::uint32_t>* failed = nullptr;  ///< not 0 once a rank has given up
};

/// Patience for `ranks` ranks on this machine: spinning is worth it only while each has a core.
[[nodiscard]] Patience make_patience(int ranks, const std::atomic<std::uint32_t>& failed);

/// Blocks until the cell has reached `epoch`; acquires what was written before the post(). Throws
/// what this thread's WaitObserver throws.
[[nodiscard]] Waited wait_for(const EpochCell& cell, std::uint64_t epoch, const Patience& patience);

}  // namespace sherd::comm
