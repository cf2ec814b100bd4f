#pragma once

#include <string>
#include <vector>

#include "sherd/comm/facts.hpp"
#include "sherd/config/train_config.hpp"

/// Configurations compared key by key: those of a run's ranks, and a run's with the one that its
/// checkpoint was saved with. All functions are local.
namespace sherd::config {

/// Every key that is set, with its value as JSON, the model's sizes under their config.json names:
/// what all ranks must have in common. Without fsdp_config.local_rank, which a launch script may
/// give each rank of its own.
[[nodiscard]] std::vector<comm::Fact> common_facts(const TrainConfig& config);

/// What a resume says about a configuration that is not the stored one, a line a key. Which key is
/// which docs/config.md says in the column "at a resume".
struct StoredDifferences {
  std::vector<std::string> refused;
  std::vector<std::string> noted;
};

/// `stored` is the text "config" of a checkpoint. A key that it lacks had its default then. Nothing
/// differs from a text that is no configuration (another program's checkpoint may have any).
[[nodiscard]] StoredDifferences differences_from_stored(const std::string& stored,
                                                        const TrainConfig& config);

}  // namespace sherd::config
