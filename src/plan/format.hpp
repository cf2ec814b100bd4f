#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/config/train_config.hpp"
#include "sherd/fsdp/sharding_plan.hpp"

namespace sherd::plan {

/// "12.56 GiB"
[[nodiscard]] std::string bytes_text(std::size_t bytes);
[[nodiscard]] std::string_view to_text(fsdp::Phase phase);
[[nodiscard]] std::string_view to_text(fsdp::LinkLevel level);
[[nodiscard]] std::string_view to_text(fsdp::Collective collective);
[[nodiscard]] std::string_view to_text(fsdp::Accumulation accumulation);
/// "off", "reentrant", "non_reentrant"
[[nodiscard]] std::string_view checkpointing_text(const config::FsdpConfig& config);

/// "layers.0-79, root" for the names of 80 blocks and "".
[[nodiscard]] std::string fold_names(const std::vector<std::string>& names);

/// Several groups that look alike but for the name.
struct FoldedGroups {
  fsdp::GroupReport one;
  std::vector<std::string> names;
};
[[nodiscard]] std::vector<FoldedGroups> fold(const std::vector<fsdp::GroupReport>& groups);

/// Several collectives that look alike but for the group.
struct FoldedCollectives {
  fsdp::PlannedCollective one;
  std::vector<std::string> groups;
};
[[nodiscard]] std::vector<FoldedCollectives> fold(
    const std::vector<fsdp::PlannedCollective>& collectives);

}  // namespace sherd::plan
