#pragma once

#include <vector>

#include "sherd/runtime/findings.hpp"

namespace sherd::runtime {

/// The findings that only matter to runs with device: cuda.
[[nodiscard]] std::vector<Finding> find_gpu_problems(const Topology& topology);

}  // namespace sherd::runtime
