#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/sharded_parameters.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/fsdp/fully_shard_options.hpp"
#include "sherd/fsdp/memory_report.hpp"
#include "sherd/fsdp/sharding_plan.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::fsdp {

/// Values a step adds up over all ranks beside the gradient norm.
struct StepValues {
  double loss = 0.0;
  double flag = 0.0;
  /// Values that a device may still be computing (0-d, f64), such as what cross_entropy() returned:
  /// divided by the loss scale and added to `loss` before the exchange. All are read with the one
  /// wait for the device that the norm needs.
  std::vector<Tensor> losses = {};
};

/// Where the first non-finite value of a gradient came from; the same on all ranks.
struct NonFinite {
  std::string parameter;
  std::int64_t index = 0;  ///< element of the parameter
  int rank = -1;           ///< whose gradient held it; -1: the sum of finite ones overflowed
  int micro_batch = 0;     ///< which backward() since zero_grad(), from 0
};

/// The norms clip_grad_norm knows.
enum class NormType : std::uint8_t { one, two, three, infinity };

class Engine;

/// A module whose parameters, gradients and optimizer state are cut over the ranks. Holds the
/// module; `comms` must outlive it. All members are collective over the ranks unless said
/// otherwise: every rank calls them in the same order. Not thread-safe. When forward or backward
/// throws, every group is given back and gradients are forgotten before the exception passes on; if
/// it was thrown on all ranks alike, the model can go on.
class ShardedModel {
 public:
  ~ShardedModel();
  ShardedModel(ShardedModel&&) noexcept;
  ShardedModel& operator=(ShardedModel&&) noexcept;

  /// Runs the module. Parameters are gathered group by group and given back behind it.
  [[nodiscard]] nn::Variable operator()(const nn::Variable& input);
  /// Another way in than forward: `body` may call the module's children and its own parameters
  /// (generation, a second head). The root group is gathered around it.
  [[nodiscard]] nn::Variable run(const nn::Variable& input,
                                 const std::function<nn::Variable(const nn::Variable&)>& body);

  /// Differentiates `loss` (this rank's share of it: shares are *summed* over ranks, so weigh it by
  /// 1 / total) and reduces every group's gradients as soon as they are complete; added to what
  /// earlier calls since zero_grad() left (micro-batches).
  void backward(const nn::Variable& loss);

  /// Whether the next backward() is the last before the optimizer step (default true). What earlier
  /// ones leave out is FullyShardOptions::accumulation. NO_SHARD always keeps whole gradients until
  /// the last; there, calling backward() again after a last one without zero_grad() is an
  /// ArgumentError.
  void set_is_last_backward(bool last);

  /// The norm of the whole model's gradient, the same bits on every rank. When it exceeds
  /// `max_norm` (> 0), the optimizer will scale by max_norm / (norm + 1e-6). `values` are summed
  /// over the ranks in the same exchange. Throws CommError on every rank when the ranks'
  /// collectives differed.
  double clip_grad_norm(double max_norm, StepValues* values = nullptr,
                        NormType type = NormType::two);
  /// The first non-finite value the last clip_grad_norm() met, if any. Local.
  [[nodiscard]] const std::optional<NonFinite>& non_finite() const;
  /// A factor the loss carried (fp16 loss scaling): the optimizer and clip_grad_norm() divide by
  /// it. Default 1. Local.
  void set_loss_scale(double scale);

  /// Gathers a group ahead of its use, in the background. Waiting for the Work makes its parameters
  /// usable outside forward, too; they stay until reshard() or the end of the group's next use.
  /// The Work must be waited for before the model goes.
  [[nodiscard]] comm::Work unshard(const std::string& group);
  /// Gives a group's whole parameters back.
  void reshard(const std::string& group);
  /// Groups to gather when `group` starts its forward (backward), in order, instead of the
  /// recorded ones. An empty list: none.
  void set_forward_prefetch(const std::string& group, const std::vector<std::string>& groups);
  void set_backward_prefetch(const std::string& group, const std::vector<std::string>& groups);

  /// Makes parameters trainable or frozen by `wanted` and lays the groups out anew, keeping all
  /// values. Optimizers and state dictionaries made before are void: make new ones.
  void set_requires_grad(const std::function<bool(const std::string& name)>& wanted);

  /// What optimizers are built from. Valid as long as the model. Local.
  [[nodiscard]] ShardedParameters& parameters();
  /// Parameters left out by FullyShardOptions::ignore. Local.
  [[nodiscard]] std::vector<nn::NamedParameter> ignored_parameters() const;

  /// "model.<name>" for every parameter: views of this rank's master shards. Local. Write to
  /// them only while no rank is in a forward (they may share this memory), then call
  /// parameters_changed().
  [[nodiscard]] dtensor::StateDict state_dict();
  void parameters_changed();

  /// Bytes this rank holds right now, counted at the allocations; optimizer_state is the caller's.
  [[nodiscard]] MemoryReport memory() const;
  /// What was sent so far, by level and operation. Local.
  [[nodiscard]] const TrafficReport& traffic() const;
  [[nodiscard]] std::vector<GroupReport> groups() const;
  /// The plan this model was laid out by, for one step of `micro_batches`. Local.
  [[nodiscard]] ShardingPlan plan(int micro_batches = 1) const;
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
/// Collective. Throws ArgumentError when the module has no parameters, ConfigError for options that
/// exclude each other and, on every rank, when the ranks' modules or options differ.
[[nodiscard]] ShardedModel fully_shard(std::shared_ptr<nn::Module> module, comm::MeshComms& comms,
                                       FullyShardOptions options = {});

/// The plan as a table, and bytes held now beside the planned ones. Local.
[[nodiscard]] std::string print_sharding_plan(const ShardingPlan& plan);
[[nodiscard]] std::string memory_summary(const ShardedModel& model,
                                         std::size_t optimizer_state_bytes = 0);

}  // namespace sherd::fsdp
