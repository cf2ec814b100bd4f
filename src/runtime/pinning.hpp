#pragma once

#include <sched.h>

namespace sherd::runtime {

/// Where this process's threads might run before anybody was pinned.
[[nodiscard]] const cpu_set_t& unpinned_cpus() noexcept;

/// The calling thread runs on one hardware thread from now on; false where the system refuses.
bool pin_to(int cpu) noexcept;

/// The calling thread runs on any of these from now on.
void allow(const cpu_set_t& cpus) noexcept;

}  // namespace sherd::runtime
