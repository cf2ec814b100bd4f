#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "fsdp/slot_audit.hpp"

namespace sherd::testing {

/// How far every rank was, as one of them knows.
using VectorClock = std::vector<std::uint64_t>;

/// Checks uses of memory by ranks that are threads: of two that overlap and of which one writes,
/// the first must have ended, and the second rank must know it, before the second begins. Knowledge
/// travels only along what ranks wait for (release() by one, join() by another), so that a wait
/// left out shows in every schedule, also where ranks happened to come in the right order. Members
/// may be called by any thread, each for its own rank.
class HappensBefore {
 public:
  /// Who uses memory: a rank, or operations it has issued and not waited for.
  enum class Actor : std::uint8_t { rank, operation };

  /// `seed` of delays before and after what ranks tell each other; 0: none.
  HappensBefore(int ranks, std::uint64_t seed);

  /// What `rank` knows now, for those who will wait for it.
  [[nodiscard]] VectorClock release(int rank);
  void join(int rank, const VectorClock& known);

  void begin(int rank, Actor actor, fsdp::Access access, const std::byte* first, std::size_t bytes);
  void end(int rank, Actor actor, fsdp::Access access, const std::byte* first, std::size_t bytes);

  /// Gives other ranks the time of a few turns, by chance none.
  void delay(int rank);

  /// Released clocks that belong to no rank's own memory: `key` names the place and the sender.
  void store(const std::string& key, std::uint64_t epoch, VectorClock clock);
  /// The clock stored first with at least `epoch`; empty when there is none.
  [[nodiscard]] VectorClock stored(const std::string& key, std::uint64_t epoch);

  [[nodiscard]] std::vector<std::string> violations() const;
  [[nodiscard]] std::size_t uses() const;

 private:
  /// The last use of a range by one actor in one way: who comes after it comes after earlier ones.
  struct Use {
    int rank = 0;
    Actor actor = Actor::rank;
    fsdp::Access access = fsdp::Access::read;
    const std::byte* first = nullptr;
    std::size_t bytes = 0;
    bool open = false;
    std::uint64_t ended = 0;  // on the clock of `rank`

    [[nodiscard]] bool overlaps(const Use& other) const {
      return first < other.first + other.bytes && other.first < first + bytes;
    }
    [[nodiscard]] bool same_as(const Use& other) const {
      return rank == other.rank && actor == other.actor && access == other.access &&
             first == other.first && bytes == other.bytes;
    }
  };

  void check(const Use& use, const Use& earlier);
  [[nodiscard]] static std::string describe(const Use& use);

  mutable std::mutex mutex_;
  std::vector<VectorClock> clocks_;
  std::vector<Use> uses_;
  std::map<std::string, std::map<std::uint64_t, VectorClock>> stored_;
  std::vector<std::string> violations_;
  std::size_t count_ = 0;
  bool delays_;
  std::vector<std::minstd_rand> random_;  // by rank
};

}  // namespace sherd::testing
