#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/sanitizer.hpp"
#include "support/temp_folder.hpp"

/// What a hundred saves leave behind in the process: nothing.
namespace sherd::io::test {
namespace {

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

struct Footprint {
  std::int64_t resident_kib = 0;
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t threads = 0;
  std::ptrdiff_t shared_memory = 0;  ///< mappings that the ranks share
};

Footprint measure() {
  Footprint now;
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages >> pages;
  now.resident_kib = pages * ::sysconf(_SC_PAGESIZE) / 1024;
  now.descriptors = entries("/proc/self/fd");
  now.threads = entries("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    now.shared_memory += line.find("/memfd:sherd-shared") != std::string::npos ? 1 : 0;
  }
  return now;
}

TEST(SteadyState, AHundredSavesLeaveMemoryDescriptorsAndThreadsAsTheyWere) {
  const TempFolder directory{kMemory};
  Footprint early;
  Footprint late;
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory.path(), .keep_last = 2});
    dtensor::StateDict state = make_state(ranks, Cut::even);
    for (std::int64_t step = 1; step <= 100; ++step) {
      fill(state, static_cast<std::uint64_t>(step));
      checkpointer.save_async(step, state).wait();
      if (step == 20 || step == 100) {
        checkpointer.poll();
        comms.world->barrier();
        dtensor::StateDict loaded = make_state(ranks, Cut::even);
        ASSERT_TRUE(checkpointer.load_latest(loaded));  // also ends the background threads
        expect_filled(loaded, static_cast<std::uint64_t>(step));
        comms.world->barrier();  // the other rank's files are closed and its threads ended, too
        if (ranks.rank() == 0) {
          (step == 20 ? early : late) = measure();
        }
        comms.world->barrier();
      }
    }
  });
  EXPECT_EQ(late.descriptors, early.descriptors);
  EXPECT_EQ(late.threads, early.threads);
  EXPECT_EQ(late.shared_memory, early.shared_memory);
  if (!sherd::testing::kSanitized) {  // whose freed memory stays resident
    // Threads come and go, and malloc keeps a little for each of a few. One leaked copy of this
    // state a save would be 24 MiB.
    EXPECT_LE(late.resident_kib - early.resident_kib, 4096)
        << early.resident_kib << " KiB after 20 saves, " << late.resident_kib << " after 100";
  }
}

}  // namespace
}  // namespace sherd::io::test
