#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/fsdp/fully_shard_options.hpp"
#include "sherd/fsdp/memory_report.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::fsdp {

/// When in a step something happens.
enum class Phase : std::uint8_t { forward, backward, update };

/// One collective of a step, the same on every rank.
struct PlannedCollective {
  Phase phase = Phase::forward;
  LinkLevel level = LinkLevel::node;
  Collective collective = Collective::all_gather;
  std::string group;
  DType dtype = DType::f32;
  int ranks = 1;
  std::size_t bytes = 0;   ///< piece (all_gather, reduce_scatter) or buffer (all_reduce)
  std::int64_t times = 1;  ///< per step, over all micro-batches
  friend bool operator==(const PlannedCollective&, const PlannedCollective&) = default;
};

/// A fixed place that groups take turns in.
struct PlannedSlot {
  std::string name;  ///< "gather 0", "reduction root", ...
  std::size_t bytes = 0;
  bool shared = false;              ///< once per node, else per rank
  std::vector<std::string> groups;  ///< who uses it
};

/// What fully_shard would hold and move, computed from shapes alone: no memory, no communication.
struct ShardingPlan {
  std::vector<GroupReport> groups;
  MemoryReport memory;                ///< of any one rank
  std::size_t gathered_per_node = 0;  ///< most bytes of gathered parameters a node holds beyond
                                      ///< the shards
  std::vector<PlannedCollective> collectives;
  std::vector<PlannedSlot> slots;
  TrafficReport traffic;  ///< of one rank in one step
};

struct PlanInput {
  int nodes = 1;
  int local_size = 1;         ///< ranks per node
  bool shared_memory = true;  ///< the ranks of a node share memory
  int optimizer_slots = 2;    ///< AdamW 2, SGD with momentum 1
  int micro_batches = 1;      ///< per step
};

/// Local; touches shapes only. Throws what fully_shard would throw for the same options.
[[nodiscard]] ShardingPlan plan_sharding(nn::Module& module, const FullyShardOptions& options,
                                         const PlanInput& input);

}  // namespace sherd::fsdp
