#include "support/happens_before.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace sherd::testing {

using fsdp::Access;

HappensBefore::HappensBefore(int ranks, std::uint64_t seed)
    : clocks_(static_cast<std::size_t>(ranks), VectorClock(static_cast<std::size_t>(ranks), 0)),
      delays_(seed != 0) {
  for (int rank = 0; rank < ranks; ++rank) {
    clocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rank)] = 1;
    random_.emplace_back(static_cast<std::uint32_t>(seed * 1000 + static_cast<unsigned>(rank)));
  }
}

VectorClock HappensBefore::release(int rank) {
  const std::lock_guard lock(mutex_);
  const auto own = static_cast<std::size_t>(rank);
  VectorClock now = clocks_[own];
  ++clocks_[own][own];  // what ends from here on is not known to those who join
  return now;
}

void HappensBefore::join(int rank, const VectorClock& known) {
  const std::lock_guard lock(mutex_);
  VectorClock& own = clocks_[static_cast<std::size_t>(rank)];
  for (std::size_t r = 0; r < known.size(); ++r) {
    own[r] = std::max(own[r], known[r]);
  }
}

void HappensBefore::begin(int rank, Actor actor, Access access, const std::byte* first,
                          std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  if (actor == Actor::rank) {
    delay(rank);
  }
  const std::lock_guard lock(mutex_);
  const Use use{rank, actor, access, first, bytes, true, 0};
  ++count_;
  Use* known = nullptr;
  for (Use& earlier : uses_) {
    if (earlier.same_as(use)) {
      known = &earlier;
    } else if (earlier.overlaps(use)) {
      const bool own = earlier.rank == rank && earlier.actor == Actor::rank;
      if (own && actor == Actor::rank && access == Access::write && earlier.access == access) {
        earlier.open = false;  // a gradient that was given up; a rank has one at a place
        earlier.ended = clocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rank)];
      } else {
        check(use, earlier);
      }
    }
  }
  if (known != nullptr) {
    known->open = true;
  } else {
    uses_.push_back(use);
  }
}

void HappensBefore::end(int rank, Actor actor, Access access, const std::byte* first,
                        std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Use use{rank, actor, access, first, bytes, false, 0};
  for (Use& earlier : uses_) {
    if (earlier.open && earlier.same_as(use)) {
      earlier.open = false;
      earlier.ended = clocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rank)];
    }
  }
}

void HappensBefore::check(const Use& use, const Use& earlier) {
  if (use.access == Access::read && earlier.access == Access::read) {
    return;
  }
  const bool same_rank = use.rank == earlier.rank;
  if (same_rank && use.actor == Actor::rank && earlier.actor == Actor::rank) {
    return;  // in the order of its program
  }
  const VectorClock& known = clocks_[static_cast<std::size_t>(use.rank)];
  const bool before = !earlier.open &&
                      (same_rank || known[static_cast<std::size_t>(earlier.rank)] >= earlier.ended);
  if (!before) {
    violations_.push_back(fmt::format("{} while {}{}", describe(use), describe(earlier),
                                      earlier.open ? "" : " may still go on"));
  }
}

std::string HappensBefore::describe(const Use& use) {
  return fmt::format("rank {}{} {} {} bytes", use.rank,
                     use.actor == Actor::operation ? "'s operation" : "",
                     use.access == Access::read ? "reads" : "writes", use.bytes);
}

void HappensBefore::delay(int rank) {
  if (!delays_) {
    return;
  }
  std::minstd_rand& random = random_[static_cast<std::size_t>(rank)];  // of this thread alone
  const auto chance = random() % 16;
  for (std::uint32_t i = 0; chance < 6 && i < (1U << chance); ++i) {
    std::this_thread::yield();
  }
}

void HappensBefore::store(const std::string& key, std::uint64_t epoch, VectorClock clock) {
  const std::lock_guard lock(mutex_);
  stored_[key][epoch] = std::move(clock);
}

VectorClock HappensBefore::stored(const std::string& key, std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  const auto place = stored_.find(key);
  if (place == stored_.end()) {
    return {};
  }
  const auto found = place->second.lower_bound(epoch);
  return found == place->second.end() ? VectorClock{} : found->second;
}

std::vector<std::string> HappensBefore::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

std::size_t HappensBefore::uses() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace sherd::testing
