#pragma once

#include <string>
#include <vector>

#include "sherd/runtime/rank_facts.hpp"

namespace sherd::runtime {

/// Asks hwloc, CUDA and the environment. Local. `leader` as in RankFacts::node_leader.
[[nodiscard]] RankFacts facts_of_this_rank(int leader, const Launch& launch);

/// Every rank's facts, by world rank. Collective.
[[nodiscard]] std::vector<RankFacts> gather_facts(const RankFacts& mine);

/// Facts as bytes, and back.
[[nodiscard]] std::string pack(const RankFacts& facts);
[[nodiscard]] RankFacts unpack(const std::string& bytes);

}  // namespace sherd::runtime
