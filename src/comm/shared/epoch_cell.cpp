#include "comm/shared/epoch_cell.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <ctime>

#include "comm/wait_watch.hpp"
#include "sherd/comm/timeout.hpp"

namespace sherd::comm {
namespace {

/// A sleeper looks up this often whether another rank has failed.
constexpr std::chrono::milliseconds kEpochNap{100};
/// And this often after work in the background.
constexpr std::chrono::milliseconds kShortNap{1};
constexpr int kSpinsWithOwnCore = 20000;  // under a millisecond; waking an idle core costs more
constexpr int kSpinsWhenCrowded = 100;
constexpr int kYields = 2;

/// The half of the counter that changes with every post; futexes are 32 bits wide.
std::uint32_t* futex_word(const EpochCell& cell) noexcept {
  auto* words =
      reinterpret_cast<std::uint32_t*>(const_cast<std::atomic<std::uint64_t>*>(&cell.epoch));
  return words + (std::endian::native == std::endian::little ? 0 : 1);
}

void futex_wake_all(const EpochCell& cell) noexcept {
  syscall(SYS_futex, futex_word(cell), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void futex_sleep(const EpochCell& cell, std::uint64_t seen,
                 std::chrono::milliseconds limit) noexcept {
  const timespec time{limit.count() / 1000, (limit.count() % 1000) * 1000000};
  syscall(SYS_futex, futex_word(cell), FUTEX_WAIT, static_cast<std::uint32_t>(seen), &time, nullptr,
          0);
}

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

bool reached_soon(const EpochCell& cell, std::uint64_t epoch, int spins) noexcept {
  for (int i = 0; i < spins; ++i) {
    if (cell.epoch.load(std::memory_order_acquire) >= epoch) {
      return true;
    }
    pause_briefly();
  }
  for (int i = 0; i < kYields; ++i) {
    if (cell.epoch.load(std::memory_order_acquire) >= epoch) {
      return true;
    }
    sched_yield();
  }
  return cell.epoch.load(std::memory_order_acquire) >= epoch;
}

/// Registers as a sleeper first and looks again after: the poster raises first and looks for
/// sleepers after, so one of the two sees the other.
void sleep_until_changed(const EpochCell& cell, std::uint64_t epoch,
                         std::chrono::milliseconds limit) noexcept {
  cell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t seen = cell.epoch.load(std::memory_order_seq_cst);
  if (seen < epoch) {
    futex_sleep(cell, seen, limit);
  }
  cell.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

void post(EpochCell& cell, std::uint64_t epoch) noexcept {
  cell.epoch.store(epoch, std::memory_order_seq_cst);
  if (cell.sleepers.load(std::memory_order_seq_cst) != 0) {
    futex_wake_all(cell);
  }
}

Patience make_patience(int ranks, const std::atomic<std::uint32_t>& failed) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return {ranks <= cores ? kSpinsWithOwnCore : kSpinsWhenCrowded, comm_timeout(), &failed};
}

Waited wait_for(const EpochCell& cell, std::uint64_t epoch, const Patience& patience) {
  if (reached_soon(cell, epoch, patience.spins)) {
    return Waited::reached;
  }
  WaitWatch watch(patience.timeout);
  while (cell.epoch.load(std::memory_order_acquire) < epoch) {
    if (patience.failed->load(std::memory_order_acquire) != 0) {
      return Waited::rank_failed;
    }
    const auto left = watch.left();
    if (left.count() <= 0) {
      return Waited::timed_out;
    }
    const bool busy = progress_while_waiting();
    sleep_until_changed(cell, epoch, std::min(left, busy ? kShortNap : kEpochNap));
  }
  return Waited::reached;
}

}  // namespace sherd::comm
