#include "runtime/pinning.hpp"

#include "sherd/runtime/team.hpp"

namespace sherd::runtime {

const cpu_set_t& unpinned_cpus() noexcept {
  static const cpu_set_t cpus = [] {
    cpu_set_t found;
    CPU_ZERO(&found);
    sched_getaffinity(0, sizeof found, &found);
    return found;
  }();
  return cpus;
}

bool pin_to(int cpu) noexcept {
  static_cast<void>(unpinned_cpus());  // before the first pin
  cpu_set_t one;
  CPU_ZERO(&one);
  if (cpu < 0 || cpu >= CPU_SETSIZE) {
    return false;
  }
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

void allow(const cpu_set_t& cpus) noexcept {
  if (CPU_COUNT(&cpus) > 0) {
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
}

void leave_the_team() noexcept { allow(unpinned_cpus()); }

}  // namespace sherd::runtime
