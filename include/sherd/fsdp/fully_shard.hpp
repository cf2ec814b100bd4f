#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/fsdp/memory_report.hpp"
#include "sherd/fsdp/mixed_precision.hpp"
#include "sherd/fsdp/sharding_strategy.hpp"
#include "sherd/nn/module.hpp"
#include "sherd/tensor/sharded_parameters.hpp"

namespace sherd::fsdp {

struct FullyShardOptions {
  ShardingStrategy strategy = ShardingStrategy::full_shard;
  MixedPrecisionPolicy mixed_precision;
  int prefetch_depth = 1;  ///< groups gathered ahead, in both directions; 0 to 8
  std::uint64_t seed = 0;  ///< of the initial values
  /// Which modules become groups of their own; default: every element of a ModuleList. What no
  /// group claims is the root group.
  std::function<bool(const std::string& name, const nn::Module& module)> wrap;
  /// Gives elements [first, first + out.numel()) of a parameter its first values (1-D, master
  /// dtype), called on each rank for what it holds; default: the parameter's InitSpec.
  std::function<void(const std::string& name, std::int64_t first, const Tensor& out)> load;
};

/// Values a step adds up over all ranks beside the gradient norm.
struct StepValues {
  double loss = 0.0;
  double flag = 0.0;
};

class Engine;

/// A module whose parameters, gradients and optimizer state are cut over the ranks. Holds the
/// module; `comms` must outlive it. All members are collective over the ranks unless said
/// otherwise: every rank calls them in the same order. Not thread-safe.
class ShardedModel {
 public:
  ~ShardedModel();
  ShardedModel(ShardedModel&&) noexcept;
  ShardedModel& operator=(ShardedModel&&) noexcept;

  /// Runs the module. Parameters are gathered group by group and given back behind it.
  [[nodiscard]] nn::Variable operator()(const nn::Variable& input);

  /// Differentiates `loss` (this rank's share of it: shares are *summed* over ranks, so weigh it by
  /// 1 / total) and reduces every group's gradients as soon as they are complete; added to what
  /// earlier calls since zero_grad() left (micro-batches).
  void backward(const nn::Variable& loss);

  /// Whether the next backward() is the last before the optimizer step (default true). NO_SHARD
  /// reduces only then; calling backward() again after a last one without zero_grad() is an
  /// ArgumentError there.
  void set_is_last_backward(bool last);

  /// The 2-norm of the whole model's gradient, the same bits on every rank. When it exceeds
  /// `max_norm` (> 0), the optimizer will scale by max_norm / (norm + 1e-6). `values` are summed
  /// over the ranks in the same exchange. Throws CommError on every rank when the ranks'
  /// collectives differed.
  double clip_grad_norm(double max_norm, StepValues* values = nullptr);

  /// What optimizers are built from. Valid as long as the model. Local.
  [[nodiscard]] ShardedParameters& parameters();

  /// "model.<name>" for every parameter: views of this rank's master shards. Local. After writing
  /// to them call parameters_changed().
  [[nodiscard]] dtensor::StateDict state_dict();
  void parameters_changed();

  /// Bytes this rank holds right now, counted at the allocations; optimizer_state is the caller's.
  [[nodiscard]] MemoryReport memory() const;
  [[nodiscard]] std::vector<GroupReport> groups() const;
  /// Gathers and reductions issued so far, for tests. Local.
  struct Counters {
    std::int64_t gathers = 0;
    std::int64_t reductions = 0;
    std::int64_t prefetched = 0;  ///< gathers that were issued before they were needed
  };
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] nn::Module& module() const;

 private:
  friend ShardedModel fully_shard(std::shared_ptr<nn::Module>, comm::MeshComms&, FullyShardOptions);
  explicit ShardedModel(std::unique_ptr<Engine> engine);

  std::unique_ptr<Engine> engine_;
};

/// Cuts `module` over all ranks of `comms`, gives every rank's part memory and first values.
/// Collective. Throws ArgumentError when the module has no parameters, ConfigError for a strategy
/// or dtype this version does not have.
[[nodiscard]] ShardedModel fully_shard(std::shared_ptr<nn::Module> module, comm::MeshComms& comms,
                                       FullyShardOptions options = {});

/// What fully_shard would hold and move, computed from shapes alone: no memory, no communication.
struct ShardingPlan {
  std::vector<GroupReport> groups;
  MemoryReport memory;  ///< of any one rank
  std::size_t gathered_per_node =
      0;  ///< most bytes of gathered parameters a node holds beyond the shards
  TrafficReport traffic;
};
struct PlanInput {
  int world_size = 1;
  bool shared_memory = true;  ///< all ranks on one node
  int local_size = 1;
  int optimizer_slots = 2;  ///< AdamW 2, SGD with momentum 1
};
[[nodiscard]] ShardingPlan plan_sharding(nn::Module& module, const FullyShardOptions& options,
                                         const PlanInput& input);

}  // namespace sherd::fsdp
