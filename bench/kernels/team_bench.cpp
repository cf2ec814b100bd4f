// What it costs to have a kernel run by all threads of a rank, and what they use while it waits:
//   bench_team, OMP_NUM_THREADS=2 OMP_PROC_BIND=true bench_team --openmp
// One line: medians of a fork and join with nothing to do right after the last, after 20 us and
// after 1 ms of serial work; of two blocks of 200 us after 1 ms; and the processor time of the
// process while the owner sleeps 100 times 5 ms.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "sherd/runtime/team.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Micros = std::chrono::duration<double, std::micro>;

double processor_ms() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return 1e3 * static_cast<double>(used.tv_sec) + 1e-6 * static_cast<double>(used.tv_nsec);
}

void work(double micros) {
  const Clock::time_point start = Clock::now();
  while (Micros(Clock::now() - start).count() < micros) {
  }
}

/// Median time of a fork of two blocks of `block` us after `gap` us of serial work.
template <class Fork>
double fork_us(const Fork& fork, double gap, double block, int repeats) {
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    work(gap);
    const Clock::time_point start = Clock::now();
    fork(block);
    times.push_back(Micros(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class Fork>
double asleep_ms(const Fork& fork) {
  double used = 0;
  for (int repeat = 0; repeat < 100; ++repeat) {
    fork(0.0);
    const double before = processor_ms();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    used += processor_ms() - before;
  }
  return used;
}

template <class Fork>
void report(const char* name, const Fork& fork) {
  fmt::print(
      "{}: right away {:.2f} us, after 20 us {:.2f}, after 1 ms {:.2f}; 2 x 200 us after 1 ms "
      "{:.1f} us; 100 x 5 ms asleep {:.1f} ms\n",
      name, fork_us(fork, 0, 0, 20000), fork_us(fork, 20, 0, 5000), fork_us(fork, 1000, 0, 300),
      fork_us(fork, 1000, 200, 200), asleep_ms(fork));
}

}  // namespace

int main([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#if defined(_OPENMP)
  if (argc > 1 && std::string_view(argv[1]) == "--openmp") {
    report("openmp", [](double block) {
#pragma omp parallel for schedule(dynamic) num_threads(2)
      for (int i = 0; i < 2; ++i) {
        work(block);
      }
    });
    return 0;
  }
#endif
  sherd::runtime::Team team({2, {0, 1}, true});
  report("team", [&](double block) { team.run(2, [&](std::int64_t) { work(block); }); });
  return 0;
}
