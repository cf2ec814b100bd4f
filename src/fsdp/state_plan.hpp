#pragma once

#include <cstddef>
#include <vector>

#include "fsdp/group.hpp"

namespace sherd::fsdp {

/// How whole parameters come about.
enum class GatherKind : std::uint8_t {
  whole,     ///< every rank holds everything
  resident,  ///< a node's ranks hold every buffer whole between them, in memory they share
  ring,      ///< groups take turns in slots that a node's ranks share
  separate   ///< the same in slots of each rank's own, where ranks do not share memory
};

/// Everything about an engine's memory and traffic that follows from options and mesh alone: what
/// the engine is built by and what plan_sharding() prints.
struct StatePlan {
  FullyShardOptions options;  ///< as the caller gave them: nothing below repeats one
  int nodes = 1;
  int local_size = 1;
  bool shared = true;                   ///< the ranks of a node share memory
  MemoryKind where = MemoryKind::host;  ///< what a rank keeps, gathers and reduces
  Level cut = Level::world;             ///< of masters, gradients, optimizer state
  GatherKind gather = GatherKind::resident;
  bool keep_blocks = false;     ///< `separate` only: a node's share of every buffer stays gathered
  std::vector<bool> keep = {};  ///< by group: whole from forward to backward
  std::size_t gather_ring = 1;  ///< slots beside the root's
  std::size_t reduction_ring = 1;

  [[nodiscard]] const StrategyRow& row() const { return fsdp::row(options.strategy); }
  [[nodiscard]] const MixedPrecisionPolicy& policy() const noexcept {
    return options.mixed_precision;
  }
  /// Memory for masters and main gradients (`offloaded` says whether they are asked to be apart).
  [[nodiscard]] Tensor allocate(bool offloaded, const Shape& shape, DType dtype) const {
    return offloaded && options.offload.allocate ? options.offload.allocate(shape, dtype)
                                                 : Tensor::zeros(shape, dtype, where);
  }

  [[nodiscard]] int ranks() const noexcept { return nodes * local_size; }
  /// `cut` in the terms of a checkpoint: on one node the ranks of a node are all ranks, and what
  /// one rank holds alone is not replicated.
  [[nodiscard]] dtensor::Placement placement() const noexcept {
    const bool held_once = ranks() == 1 || (cut == Level::node && nodes == 1);
    return held_once ? dtensor::Placement::sharded : cut;
  }
  /// Whether the values a rank updates must go to the other nodes.
  [[nodiscard]] bool gathers_across() const noexcept { return cut == Level::world && nodes > 1; }
  [[nodiscard]] bool defers() const noexcept {
    return options.accumulation == Accumulation::defer_all_reduce && nodes > 1 &&
           cut != Level::whole;
  }
  /// The dtype of main gradients: accumulate_dtype where sums of whole gradients are added to them.
  /// Where gradients are not cut, the main gradient is the memory backward itself writes to and
  /// adds the next micro-batch to, and backward makes gradients in master_dtype.
  [[nodiscard]] DType main_dtype() const noexcept {
    return cut == Level::whole ? policy().master_dtype : policy().accumulate();
  }
};

/// The whole plan, complete. Throws ConfigError for options that exclude each other.
[[nodiscard]] StatePlan make_state_plan(const GroupSet& set, const FullyShardOptions& options,
                                        int nodes, int local_size, bool shared, MemoryKind where);

/// Bytes by kind of one rank (optimizer_state for `optimizer_slots` values an element).
[[nodiscard]] MemoryReport planned_memory(const GroupSet& set, const StatePlan& plan,
                                          int optimizer_slots);

}  // namespace sherd::fsdp
