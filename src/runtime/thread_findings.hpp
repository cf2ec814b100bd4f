#pragma once

#include <vector>

#include "sherd/runtime/findings.hpp"

namespace sherd::runtime {

/// The findings about the threads of ranks: more of them than cores or than a control group leaves
/// time for, and an OMP_NUM_THREADS that says no number, or several.
[[nodiscard]] std::vector<Finding> find_thread_problems(const Topology& topology);

}  // namespace sherd::runtime
