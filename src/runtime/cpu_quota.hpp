#pragma once

#include <filesystem>

namespace sherd::runtime {

/// How many processors' worth of time the control groups of this process leave it, 0 when none of
/// them limits it: the least limit on the way from its group to the top. `membership` is
/// /proc/self/cgroup, `mount` where the groups are mounted. Version 2 and version 1.
[[nodiscard]] double cpu_quota(const std::filesystem::path& membership = "/proc/self/cgroup",
                               const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace sherd::runtime
