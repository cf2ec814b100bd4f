#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sherd/plan/plan.hpp"

namespace sherd::plan {

/// Elements [begin, begin + count) of a group's buffer.
struct OwnedElements {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};
/// What of a group a rank's optimizer works on.
[[nodiscard]] OwnedElements owned_elements(const StepPlan& plan, const fsdp::GroupReport& group,
                                           int rank);

struct SlotLifetime {
  std::string slots;  ///< "gather", "reduction", "cross"
  std::string lifetime;
};
[[nodiscard]] std::vector<SlotLifetime> slot_lifetimes(const StepPlan& plan);

/// Bytes per rank by kind, beside those of NO_SHARD.
[[nodiscard]] std::string bytes_table(const StepPlan& plan);
/// Bytes a rank sends in a step, likewise.
[[nodiscard]] std::string traffic_table(const StepPlan& plan);
[[nodiscard]] std::string activations_table(const StepPlan& plan);

}  // namespace sherd::plan
