#pragma once

#include "sherd/runtime/rank_facts.hpp"

namespace sherd::runtime {

/// Fills what hwloc knows: the node, and the cpus, cores and NUMA nodes the calling thread may use.
void discover_machine(RankFacts& facts);

}  // namespace sherd::runtime
