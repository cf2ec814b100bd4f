#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace sherd::runtime {

/// How many threads compute for a rank, and where.
struct TeamPlan {
  int threads = 1;        ///< the calling one counts
  std::vector<int> cpus;  ///< a hardware thread for each; empty: the system places them
  bool awake = false;     ///< each has a core: who waits looks for some tens of microseconds first
};

/// The threads of a rank. They are started once and sleep when there is no work. One thread owns a
/// team and is its first member; only this thread calls run(). Local.
class Team {
 public:
  /// Starts plan.threads - 1 threads; pins them, and the calling one, where `plan` has cpus. Throws
  /// ConfigError when the system gives no thread.
  explicit Team(const TeamPlan& plan);
  /// Ends the threads. The caller may again run where it might before.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int threads() const noexcept { return threads_; }

  /// Calls f(block) once for each block from 0 to blocks - 1, on any member, in any order; a member
  /// that is free takes the next. Returns when all have returned. Blocking. What `f` throws is
  /// thrown here, of several the exception of the lowest block that was run; blocks that nobody has
  /// begun by then are dropped. Inside f the calling thread has no team: what f starts is serial.
  template <class F>
  void run(std::int64_t blocks, const F& f) {
    run_blocks(
        blocks, [](const void* body, std::int64_t block) { (*static_cast<const F*>(body))(block); },
        &f);
  }

 private:
  struct State;
  using Call = void (*)(const void* body, std::int64_t block);
  void run_blocks(std::int64_t blocks, Call call, const void* body);
  void end() noexcept;

  int threads_;
  std::unique_ptr<State> state_;
};

/// The team of the calling thread; null: it computes alone.
[[nodiscard]] Team* current_team() noexcept;

/// While it lives, `team` (may be null) is the calling thread's team.
class TeamScope {
 public:
  explicit TeamScope(Team* team) noexcept;
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  Team* previous_;
};

/// Members of the calling thread's team; 1 without one.
[[nodiscard]] inline int team_threads() noexcept {
  const Team* team = current_team();
  return team == nullptr ? 1 : team->threads();
}

/// Calls f(block) for each block: by the team of the calling thread, or one after the other.
template <class F>
void for_blocks(std::int64_t blocks, const F& f) {
  Team* team = blocks > 1 ? current_team() : nullptr;
  if (team != nullptr) {
    return team->run(blocks, f);
  }
  for (std::int64_t block = 0; block < blocks; ++block) {
    f(block);
  }
}

/// The calling thread may run wherever the launcher lets this process run, though the thread that
/// started it is pinned: for threads that save, read or transfer beside a team. Local.
void leave_the_team() noexcept;

}  // namespace sherd::runtime
