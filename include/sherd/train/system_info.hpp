#pragma once

#include <string>

#include "sherd/runtime/topology.hpp"

namespace sherd::train {

/// What `sherd info` prints: versions, communication backends and devices with the reason for each
/// absent one, matrix products, the mesh of this launch. Local.
[[nodiscard]] std::string system_info(const runtime::Topology& topology);

}  // namespace sherd::train
