// Google Benchmark's main with a team: kernels run on OMP_NUM_THREADS threads (1 if it is not set),
// each on a core of its own while there are as many.
#include <benchmark/benchmark.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "sherd/runtime/placement.hpp"
#include "sherd/runtime/team.hpp"

namespace {

sherd::runtime::TeamPlan plan() {
  const char* said = std::getenv("OMP_NUM_THREADS");
  const int threads = std::max(1, sherd::runtime::threads_said(said == nullptr ? "" : said));
  sherd::runtime::TeamPlan plan{threads, {}, false};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE && static_cast<int>(plan.cpus.size()) < threads; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) {
      plan.cpus.push_back(cpu);
    }
  }
  plan.awake = static_cast<int>(plan.cpus.size()) == threads;
  if (!plan.awake || threads == 1) {
    plan.cpus.clear();
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  sherd::runtime::Team team(plan());
  const sherd::runtime::TeamScope scope(&team);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
