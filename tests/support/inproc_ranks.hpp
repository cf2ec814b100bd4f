#pragma once

#include <functional>

#include "sherd/comm/mesh_comms.hpp"

namespace sherd::io::test {

/// Runs `body` on nodes x local ranks as threads of this process.
inline void on_ranks(int nodes, int local, const std::function<void(comm::MeshComms&)>& body) {
  comm::run_inproc_mesh(nodes, local, body);
}

}  // namespace sherd::io::test
