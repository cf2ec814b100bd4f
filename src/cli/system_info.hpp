#pragma once

#include <string>

#include "sherd/runtime/topology.hpp"

namespace sherd::cli {

/// What `sherd info` prints: versions, communication backends and devices with the reason for each
/// absent one, matrix products, the nodes and ranks of this launch, and what should be changed.
/// Local.
[[nodiscard]] std::string system_info(const runtime::Topology& topology);

/// The same as one JSON object; docs/topology.md lists its keys.
[[nodiscard]] std::string system_info_json(const runtime::Topology& topology);

/// The part about the launch alone.
[[nodiscard]] std::string launch_info(const runtime::Topology& topology);

/// The first line of a run: ranks, nodes, threads, launcher, job.
[[nodiscard]] std::string start_line(const runtime::Topology& topology);

}  // namespace sherd::cli
