#pragma once

#include <string>
#include <vector>

#include "fsdp/state_plan.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/mesh/device_mesh.hpp"

namespace sherd::fsdp {

/// One line a fact that must be the same on every rank: options, groups, parameters.
[[nodiscard]] std::vector<std::string> describe(const GroupSet& set, const StatePlan& plan,
                                                const FullyShardOptions& options);

/// `world` is numbered by piece. Throws ConfigError on every rank, naming the first rank and line
/// that differ from rank 0's. Collective.
void require_same_everywhere(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                             const std::vector<std::string>& lines);

}  // namespace sherd::fsdp
