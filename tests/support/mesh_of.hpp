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
    comms.local = std::make_unique<NoSharedMemory>(std::move(comms.local));
  }
  return comms;
}

/// Nodes and ranks per node of a test.
struct Grid {
  int nodes = 1;
  int local_size = 1;
  [[nodiscard]] int ranks() const { return nodes * local_size; }
};

/// Runs `body(comms)` on threads as ranks of a grid. Nodes share no memory; `separate`: ranks of a
/// node neither.
template <class Body>
void run_grid(const Grid& grid, Memory memory, const Body& body) {
  comm::run_inproc_mesh(grid.nodes, grid.local_size, [&](comm::MeshComms& comms) {
    if (grid.nodes > 1) {
      comms.world = std::make_unique<NoSharedMemory>(std::move(comms.world));
      comms.cross = std::make_unique<NoSharedMemory>(std::move(comms.cross));
    }
    if (memory == Memory::separate) {
      comms.local = std::make_unique<NoSharedMemory>(std::move(comms.local));
    }
    body(comms);
  });
}

}  // namespace sherd::testing
