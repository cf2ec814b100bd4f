#include "sherd/runtime/team.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sherd::runtime {
namespace {

TeamPlan floating(int threads) { return {threads, {}, false}; }

TEST(Team, RunsEveryBlockOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const bool awake : {false, true}) {
      Team team({threads, {}, awake});
      EXPECT_EQ(team.threads(), threads);
      for (const int blocks : {0, 1, 2, 5, 64, 1000}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(blocks));
        team.run(blocks, [&](std::int64_t block) { ++runs[static_cast<std::size_t>(block)]; });
        EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; }));
      }
    }
  }
}

TEST(Team, WorksOnManyRunsInARow) {
  Team team({3, {}, true});
  std::int64_t total = 0;
  for (int run = 0; run < 20000; ++run) {
    std::atomic<std::int64_t> sum{0};
    team.run(4, [&](std::int64_t block) { sum += block; });
    total += sum;
  }
  EXPECT_EQ(total, 20000 * 6);
}

/// Every member must come for this to end.
TEST(Team, HasAllMembersAtWork) {
  Team team(floating(4));
  std::latch all(4);
  std::vector<std::thread::id> who(4);
  team.run(4, [&](std::int64_t block) {
    who[static_cast<std::size_t>(block)] = std::this_thread::get_id();
    all.arrive_and_wait();
  });
  EXPECT_EQ(std::set<std::thread::id>(who.begin(), who.end()).size(), 4U);
  EXPECT_NE(std::find(who.begin(), who.end(), std::this_thread::get_id()), who.end());
}

TEST(Team, CarriesTheExceptionOfTheLowestBlockAndGoesOn) {
  Team team(floating(3));
  for (int run = 0; run < 50; ++run) {
    std::latch all(3);
    std::string said;
    try {
      team.run(3, [&](std::int64_t block) {
        all.arrive_and_wait();  // so that all three throw
        throw std::runtime_error(std::to_string(block));
      });
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, "0");
    std::atomic<int> blocks{0};
    team.run(9, [&](std::int64_t) { ++blocks; });
    EXPECT_EQ(blocks, 9);
  }
}

TEST(Team, DropsBlocksBehindAnException) {
  Team team(floating(1));
  int begun = 0;
  EXPECT_THROW(team.run(100,
                        [&](std::int64_t) {
                          ++begun;
                          throw std::runtime_error("stop");
                        }),
               std::runtime_error);
  EXPECT_EQ(begun, 1);
}

TEST(Team, IsSerialInsideItself) {
  Team team(floating(3));
  const TeamScope scope(&team);
  std::atomic<int> others{0};
  for_blocks(6, [&](std::int64_t) {
    const auto outside = std::this_thread::get_id();
    for_blocks(5, [&](std::int64_t) { others += std::this_thread::get_id() == outside ? 0 : 1; });
    others += current_team() == nullptr ? 0 : 1;
  });
  EXPECT_EQ(others, 0);
  EXPECT_EQ(current_team(), &team);
}

TEST(Team, OfAThreadIsItsOwn) {
  Team team(floating(2));
  const TeamScope scope(&team);
  EXPECT_EQ(team_threads(), 2);
  std::thread([] {
    EXPECT_EQ(current_team(), nullptr);
    EXPECT_EQ(team_threads(), 1);
    std::vector<std::int64_t> order;
    for_blocks(3, [&](std::int64_t block) { order.push_back(block); });
    EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2}));
  }).join();
  const TeamScope alone(nullptr);
  EXPECT_EQ(team_threads(), 1);
}

cpu_set_t cpus_of_this_thread() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  return cpus;
}

int first_cpu() {
  const cpu_set_t cpus = cpus_of_this_thread();
  int cpu = 0;
  while (CPU_ISSET(static_cast<std::size_t>(cpu), &cpus) == 0) {
    ++cpu;
  }
  return cpu;
}

TEST(Team, PinsItsThreadsAndLetsTheCallerGo) {
  const cpu_set_t before = cpus_of_this_thread();
  const int cpu = first_cpu();
  {
    Team team({2, {cpu, cpu}, false});
    std::latch both(2);
    std::atomic<int> pinned{0};
    team.run(2, [&](std::int64_t) {
      const cpu_set_t mine = cpus_of_this_thread();
      pinned += CPU_COUNT(&mine) == 1 && CPU_ISSET(static_cast<std::size_t>(cpu), &mine) ? 1 : 0;
      both.arrive_and_wait();
    });
    EXPECT_EQ(pinned, 2);
    std::thread([&] {
      leave_the_team();
      const cpu_set_t mine = cpus_of_this_thread();
      EXPECT_TRUE(CPU_EQUAL(&mine, &before));
    }).join();
  }
  const cpu_set_t after = cpus_of_this_thread();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
}

TEST(Team, GoesOnWhereTheSystemRefusesToPin) {
  Team team({2, {1 << 20, -1}, false});
  std::atomic<int> blocks{0};
  team.run(8, [&](std::int64_t) { ++blocks; });
  EXPECT_EQ(blocks, 8);
}

double processor_seconds(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// Time of processors, not of a clock: while the owner uses 50 ms of its own, a member that spun
/// would use as much on another core; on one core it would at least get its turns.
TEST(Team, SleepsWhileItsOwnerIsBusy) {
  Team team({2, {}, true});
  std::latch both(2);
  std::vector<clockid_t> clocks(2);
  team.run(2, [&](std::int64_t block) {
    pthread_getcpuclockid(pthread_self(), &clocks[static_cast<std::size_t>(block)]);
    both.arrive_and_wait();
  });
  clockid_t mine{};
  pthread_getcpuclockid(pthread_self(), &mine);
  const double before = processor_seconds(clocks[0]) + processor_seconds(clocks[1]);
  const double start = processor_seconds(mine);
  while (processor_seconds(mine) - start < 0.05) {
  }
  const double all = processor_seconds(clocks[0]) + processor_seconds(clocks[1]) - before;
  const double own = processor_seconds(mine) - start;
  EXPECT_LT(all - own, 0.005);
}

}  // namespace
}  // namespace sherd::runtime
