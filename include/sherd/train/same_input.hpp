#pragma once

#include <string>
#include <vector>

#include "sherd/comm/communicator.hpp"
#include "sherd/comm/facts.hpp"
#include "sherd/config/train_config.hpp"

namespace sherd::train {

/// Collective, blocking; `rank` is this rank's number in messages. Throws ConfigError on all ranks,
/// with one line that has key, values and ranks, where they have different configurations, versions
/// of this program or environment variables that change a run.
void require_same_input(comm::Communicator& world, int rank, const config::TrainConfig& config);

/// The variables that all ranks must have alike, those that are set: all that sherd reads but the
/// ones that may be said to one rank or node alone. Local.
[[nodiscard]] std::vector<comm::Fact> environment_facts();

/// Their names, set or not, and the names of those that may differ between ranks.
[[nodiscard]] const std::vector<std::string>& shared_variables();
[[nodiscard]] const std::vector<std::string>& per_rank_variables();

}  // namespace sherd::train
