#include "sherd/runtime/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/futex.hpp"
#include "runtime/pinning.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"

namespace sherd::runtime {
namespace {

using Clock = std::chrono::steady_clock;

thread_local Team* team_of_thread = nullptr;

/// How long a member looks for work, or for the last block to end, before it sleeps: longer than
/// what a step does between two parallel kernels, too short to be seen as load.
constexpr std::chrono::microseconds kAwake{50};

void pause_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks at the word for a moment; whether it is something else than `value` by then.
bool changes_soon(const FutexWord& word, std::uint32_t value) noexcept {
  constexpr int kLooks = 64;
  const Clock::time_point end = Clock::now() + kAwake;
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (word.load(std::memory_order_acquire) != value) {
        return true;
      }
      pause_processor();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace

/// A run opens the gate, tells the members by a new number, works itself and shuts the gate; it is
/// over when nobody is inside. A member that wakes up late finds the gate shut: nobody waits for
/// who has not begun.
struct Team::State {
  static constexpr std::uint32_t kOpen = 1U << 31;

  explicit State(TeamPlan of) : plan(std::move(of)) {}

  void member(std::size_t index) {
    if (!plan.cpus.empty()) {
      pin_to(plan.cpus[index]);
    }
    for (std::uint32_t seen = 0;;) {
      wait_for_news(seen);
      seen = number.load();
      if (ending.load()) {
        return;
      }
      if (enter()) {
        work();
        leave();
      }
    }
  }

  /// A sleeper is counted before the system compares the number, and tell() looks at the count
  /// after it has changed the number: one of the two sees the other.
  void wait_for_news(std::uint32_t seen) noexcept {
    if (plan.awake && changes_soon(number, seen)) {
      return;
    }
    sleepers.fetch_add(1);
    while (number.load() == seen) {
      futex_wait(number, seen);
    }
    sleepers.fetch_sub(1);
  }

  bool enter() noexcept {
    std::uint32_t inside = gate.load();
    while ((inside & kOpen) != 0) {
      if (gate.compare_exchange_weak(inside, inside + 1)) {
        return true;
      }
    }
    return false;
  }

  void leave() noexcept {
    if (gate.fetch_sub(1) == 1) {  // shut, and the last one
      futex_wake(gate, 1);
    }
  }

  void work() noexcept {
    for (std::int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
      try {
        call(body, block);
      } catch (...) {
        fail(block);
      }
    }
  }

  void fail(std::int64_t block) noexcept {
    const std::lock_guard lock(mutex);
    if (!error || block < failed_block) {
      error = std::current_exception();
      failed_block = block;
    }
    next.store(blocks);
  }

  void tell(int wanted) noexcept {
    number.fetch_add(1);
    if (sleepers.load() > 0) {
      futex_wake(number, wanted);
    }
  }

  void shut() noexcept {
    std::uint32_t inside = gate.fetch_and(~kOpen) & ~kOpen;
    while (inside != 0) {
      if (!plan.awake || !changes_soon(gate, inside)) {
        futex_wait(gate, inside);
      }
      inside = gate.load();
    }
  }

  const TeamPlan plan;
  std::vector<std::thread> members;
  cpu_set_t cpus_of_owner{};

  // Of the run: written while the gate is shut and nobody inside.
  Call call = nullptr;
  const void* body = nullptr;
  std::int64_t blocks = 0;
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t failed_block = 0;

  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) FutexWord number{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> ending{false};
  alignas(64) FutexWord gate{0};
};

Team::Team(const TeamPlan& plan)
    : threads_(std::max(1, plan.threads)), state_(std::make_unique<State>(plan)) {
  expect(plan.cpus.empty() || plan.cpus.size() == static_cast<std::size_t>(threads_),
         "a team needs a hardware thread for each of its threads, or none");
  sched_getaffinity(0, sizeof(cpu_set_t), &state_->cpus_of_owner);
  try {
    for (int index = 1; index < threads_; ++index) {
      state_->members.emplace_back(
          [state = state_.get(), index] { state->member(static_cast<std::size_t>(index)); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = state_->members.size() + 1;
    end();
    throw ConfigError(
        fmt::format("the system gives {} of the {} threads of a rank ({}). Try: OMP_NUM_THREADS={}",
                    started, threads_, error.what(), started));
  }
  if (!plan.cpus.empty()) {
    pin_to(plan.cpus.front());
  }
}

Team::~Team() {
  end();
  if (!state_->plan.cpus.empty()) {
    allow(state_->cpus_of_owner);
  }
}

void Team::end() noexcept {
  state_->ending.store(true);
  state_->tell(threads_);
  for (std::thread& member : state_->members) {
    member.join();
  }
}

void Team::run_blocks(std::int64_t blocks, Call call, const void* body) {
  const TeamScope alone(nullptr);
  State& state = *state_;
  state.call = call;
  state.body = body;
  state.blocks = blocks;
  state.next.store(0, std::memory_order_relaxed);
  state.gate.store(State::kOpen);
  state.tell(static_cast<int>(std::min<std::int64_t>(threads_, blocks) - 1));
  state.work();
  state.shut();
  if (state.error) {
    std::rethrow_exception(std::exchange(state.error, nullptr));
  }
}

Team* current_team() noexcept { return team_of_thread; }

TeamScope::TeamScope(Team* team) noexcept : previous_(std::exchange(team_of_thread, team)) {}

TeamScope::~TeamScope() { team_of_thread = previous_; }

}  // namespace sherd::runtime
