#pragma once

namespace sherd::runtime {

/// What hwloc sees of this node.
struct Machine {
  int cores = 1;
  int numa_nodes = 1;
  int gpus = 0;
};

[[nodiscard]] Machine discover_machine();

}  // namespace sherd::runtime
