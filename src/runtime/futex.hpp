#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

// std::atomic::wait wakes one waiter or all; a team wakes as many as there is work for.
namespace sherd::runtime {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(std::uint32_t) && FutexWord::is_always_lock_free);

/// Sleeps while the word has this value; may return early.
inline void futex_wait(const FutexWord& word, std::uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

/// Wakes up to `count` threads that sleep on the word.
inline void futex_wake(FutexWord& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace sherd::runtime
