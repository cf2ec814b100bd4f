#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "io/disk/page.hpp"
#include "io/save/ring.hpp"
#include "sherd/base/error.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// What is done ahead of the first save.
namespace sherd::io::test {
namespace {

constexpr std::uint64_t kManyPages = std::uint64_t{24} << 20;

/// Of pages that the process has been given.
std::size_t resident_bytes(std::byte* memory, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_memory(bytes / page);
  EXPECT_EQ(::mincore(memory, bytes, in_memory.data()), 0);
  return page * static_cast<std::size_t>(std::count_if(in_memory.begin(), in_memory.end(),
                                                       [](unsigned char c) { return c % 2 != 0; }));
}

TEST(FirstTouch, GivesStagingMemoryItsPagesInTheBackground) {
  StagingRing ring;
  ring.reserve(kManyPages);
  std::byte* const memory = ring.try_acquire(kManyPages);
  EXPECT_EQ(resident_bytes(memory, kManyPages), 0U);
  ring.reset();
  ring.touch_in_background();
  ring.wait_touched();
  EXPECT_EQ(resident_bytes(memory, kManyPages), kManyPages);
}

TEST(FirstTouch, EndsWithASaveOrWithTheMemory) {
  for (const bool used : {true, false}) {
    StagingRing ring;
    ring.reserve(kManyPages);
    ring.touch_in_background();
    if (used) {
      ring.reset();
      std::byte* const memory = ring.try_acquire(kManyPages);
      std::fill_n(memory, kManyPages, std::byte{7});
      EXPECT_EQ(std::count(memory, memory + kManyPages, std::byte{7}),
                static_cast<std::ptrdiff_t>(kManyPages));
    }
  }
}

TEST(Prepare, MayBeFollowedBySavesOfOtherStatesOrByNone) {
  const TempFolder directory{kMemory};
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_state(ranks, Cut::even);
    dtensor::StateDict other = make_state(ranks, Cut::replicated);
    Checkpointer checkpointer(comms, {.directory = directory.path(), .keep_last = 0});
    checkpointer.prepare(state);
    checkpointer.prepare(state);
    fill(state, 1);
    checkpointer.save_async(1, state).wait();
    fill(other, 2);
    checkpointer.save_async(2, other).wait();
    checkpointer.prepare(state);
    fill(state, 3);
    checkpointer.save_async(3, state).wait();
    for (const std::uint64_t step : {1U, 2U, 3U}) {
      dtensor::StateDict loaded = make_state(ranks, Cut::even);
      checkpointer.load(directory.path() / step_name(static_cast<std::int64_t>(step)), loaded);
      expect_filled(loaded, step);
    }
    checkpointer.prepare(other);
  });
}

TEST(Prepare, WritesNothingAndFailsAsASaveWould) {
  const TempFolder directory{kMemory};
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    EXPECT_THROW(checkpointer.prepare({}), ArgumentError);
    dtensor::StateDict state = make_state(ranks, Cut::even);
    checkpointer.prepare(state);
    EXPECT_FALSE(checkpointer.last().valid());
    dtensor::StateDict loaded = make_state(ranks, Cut::even);
    EXPECT_FALSE(checkpointer.load_latest(loaded).has_value());
  });
}

}  // namespace
}  // namespace sherd::io::test
