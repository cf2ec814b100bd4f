#pragma once

#include <vector>

#include "fsdp/group.hpp"
#include "fsdp/level_comms.hpp"
#include "fsdp/state_plan.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::fsdp {

/// Parameters that stay whole on every rank, outside all groups: memory, first values, gradients.
class IgnoredParameters {
 public:
  IgnoredParameters() = default;
  IgnoredParameters(const GroupSet& set, const StatePlan& plan);

  /// Sums the gradients of those that asked for it over all ranks: on `world` those in host memory,
  /// on `levels` those on a device. Collective, blocking for host memory.
  void reduce(comm::Communicator& world, LevelComms& levels) const;
  /// Forgets the gradients.
  void zero() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::vector<nn::NamedParameter> named() const;

 private:
  struct Entry {
    nn::NamedParameter parameter;
    bool all_reduce = false;
    Tensor gradient;  // undefined when frozen
  };
  std::vector<Entry> entries_;
};

}  // namespace sherd::fsdp
