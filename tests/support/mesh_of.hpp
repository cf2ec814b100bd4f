#pragma once

#include <cstdint>
#include <memory>

#include "sherd/comm/backends.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "support/no_shared_memory.hpp"

namespace sherd::testing {

enum class Memory { shared, separate, device };

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
/// node neither; `device`: each rank has an emulated device, whose streams run in an order drawn
/// with `seed`.
template <class Body>
void run_grid(const Grid& grid, Memory memory, const Body& body, std::uint64_t seed = 0) {
  comm::run_inproc_mesh(grid.nodes, grid.local_size, [&](comm::MeshComms& comms) {
    std::shared_ptr<runtime::Device> device;
    if (memory == Memory::device) {
      const auto rank = static_cast<std::uint64_t>(comms.world->rank());
      device = runtime::make_emulated({.seed = 100 * seed + rank});
    }
    const runtime::DeviceScope on_device(device);
    if (grid.nodes > 1 && memory != Memory::device) {
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
