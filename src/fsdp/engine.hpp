#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fsdp/fingerprint.hpp"
#include "fsdp/gradient_reducer.hpp"
#include "fsdp/group.hpp"
#include "fsdp/parameter_store.hpp"
#include "fsdp/prefetch_order.hpp"
#include "sherd/fsdp/fully_shard.hpp"

namespace sherd::fsdp {

/// Runs the life of every group: sharded -> unsharding -> unsharded -> sharded, around forward and
/// backward. Reads the strategy's row, never its name.
class Engine : public ShardedParameters {
 public:
  Engine(std::shared_ptr<nn::Module> module, comm::MeshComms& comms, FullyShardOptions options);
  ~Engine() override;

  [[nodiscard]] nn::Variable forward(const nn::Variable& input);
  void backward(const nn::Variable& loss);
  void set_is_last_backward(bool last) { last_backward_ = last; }
  double clip_grad_norm(double max_norm, StepValues* values);

  [[nodiscard]] dtensor::StateDict state_dict() const;
  void parameters_changed();
  [[nodiscard]] MemoryReport memory() const;
  [[nodiscard]] std::vector<GroupReport> groups() const;
  [[nodiscard]] ShardedModel::Counters counters() const { return counters_; }
  [[nodiscard]] nn::Module& module() const { return *module_; }

  // ShardedParameters
  [[nodiscard]] std::span<const ParameterShard> shards() const override { return shards_; }
  [[nodiscard]] double grad_scale() const override { return grad_scale_; }
  void begin_update() override;
  void end_update(std::size_t shard) override;
  void zero_grad() override;

 private:
  void make_storage();
  void initialise();
  void make_shards();
  void install_hooks();

  nn::Variable before_forward(std::size_t group, const nn::Variable& input);
  nn::Variable after_forward(std::size_t group, const nn::Variable& output);
  void before_backward(std::size_t group);
  void after_backward(std::size_t group);

  void issue(std::size_t group);
  [[nodiscard]] bool slot_is_in_use(std::size_t group) const;
  void free_slot(std::size_t group);
  void prefetch(std::size_t group);
  void unshard(std::size_t group);
  void reshard(std::size_t group);
  void reshard_all();
  void give_gradient_buffers(std::size_t group);
  void reduce(std::size_t group);
  [[nodiscard]] bool keeps_after_forward(std::size_t group) const;
  [[nodiscard]] std::vector<dtensor::DTensor> tensors_of(std::size_t buffer) const;

  std::shared_ptr<nn::Module> module_;
  FullyShardOptions options_;
  StrategyRow row_;
  std::unique_ptr<comm::Communicator> gather_comm_;
  std::unique_ptr<comm::Communicator> reduce_comm_;
  GroupSet set_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<GradientReducer> reducer_;
  PrefetchOrder order_;
  Fingerprint fingerprint_;
  std::vector<ParameterShard> shards_;  // trainable buffers in order
  std::vector<std::size_t> buffer_of_shard_;
  std::vector<Tensor> whole_gradients_;  // by buffer: what backward writes to now
  std::vector<int> running_;             // by group: forwards going on
  std::vector<int> pending_uses_;        // by group: forwards whose backward has not ended
  std::vector<bool> has_gradients_;      // by group: backward writes to its buffers now
  std::vector<bool> reduced_;            // by group: in this backward
  std::vector<bool> issued_;             // by group: a gather of current values is on
  std::vector<bool> unsharded_;          // by group: parameters point at whole buffers
  ShardedModel::Counters counters_;
  double grad_scale_ = 1.0;
  bool last_backward_ = true;
  bool gradients_synchronised_ = false;
};

/// Slots of the gather ring: the group in use and those on their way; all of them where the
/// strategy keeps what forward gathered.
[[nodiscard]] std::size_t gather_ring(const StrategyRow& row, int prefetch_depth,
                                      std::size_t groups);
/// Reduction slots beside the root's: one backward writes, one being reduced.
inline constexpr std::size_t kReductionRing = 2;

}  // namespace sherd::fsdp
