#pragma once

#include <memory>

#include "sherd/comm/backends.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "support/no_shared_memory.hpp"

namespace sherd::testing {

enum class Memory { shared, separate };

/// A one-node mesh around a communicator; `separate` hides that its ranks share memory.
inline comm::MeshComms mesh_of(comm::Communicator& world, Memory memory = Memory::shared) {
  comm::MeshComms comms{mesh::DeviceMesh(1, world.size()), world.duplicate(), world.duplicate(),
                        comm::make_self()};
  if (memory == Memory::separate) {
    comms.world = std::make_unique<NoSharedMemory>(std::move(comms.world));
  }
  return comms;
}

}  // namespace sherd::testing
