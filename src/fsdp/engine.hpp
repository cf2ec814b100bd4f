#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fsdp/gradient_reducer.hpp"
#include "fsdp/group.hpp"
#include "fsdp/ignored_parameters.hpp"
#include "fsdp/issue_history.hpp"
#include "fsdp/level_comms.hpp"
#include "fsdp/parameter_store.hpp"
#include "fsdp/prefetch_order.hpp"
#include "fsdp/state_plan.hpp"
#include "sherd/autograd/function.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::fsdp {

/// Runs the life of every group: sharded -> unsharding -> unsharded -> sharded, around forward and
/// backward. Reads the plan, which reads the strategy's row; never its name.
class Engine : public ShardedParameters {
 public:
  Engine(std::shared_ptr<nn::Module> module, comm::MeshComms& comms, FullyShardOptions options);
  ~Engine() override;

  using Body = std::function<nn::Variable(const nn::Variable&)>;
  [[nodiscard]] nn::Variable forward(const nn::Variable& input);
  [[nodiscard]] nn::Variable run(const nn::Variable& input, const Body& body);
  void backward(const nn::Variable& loss);
  void set_is_last_backward(bool last) { last_backward_ = last; }
  double clip_grad_norm(double max_norm, StepValues* values, NormType type);
  [[nodiscard]] const std::optional<NonFinite>& non_finite() const { return non_finite_; }
  void set_loss_scale(double scale);

  [[nodiscard]] comm::Work start_unshard(const std::string& group);
  void give_back(const std::string& group);
  void set_prefetch(bool forward, const std::string& group, const std::vector<std::string>& groups);
  void set_requires_grad(const std::function<bool(const std::string& name)>& wanted);

  [[nodiscard]] dtensor::StateDict state_dict() const;
  void parameters_changed();
  [[nodiscard]] std::vector<nn::NamedParameter> ignored_parameters() const;
  [[nodiscard]] MemoryReport memory() const;
  [[nodiscard]] const TrafficReport& traffic() const { return traffic_; }
  [[nodiscard]] std::vector<GroupReport> groups() const;
  [[nodiscard]] ShardingPlan plan(int micro_batches) const;
  [[nodiscard]] ShardedModel::Counters counters() const { return counters_; }
  [[nodiscard]] nn::Module& module() const { return *module_; }

  // ShardedParameters
  [[nodiscard]] std::span<const ParameterShard> shards() const override { return shards_; }
  [[nodiscard]] double grad_scale() const override { return grad_scale_; }
  void begin_update() override;
  void end_update(std::size_t shard) override;
  void zero_grad() override;
  [[nodiscard]] Tensor make_state(const Shape& shape, DType dtype) override {
    return plan_.allocate(plan_.options.offload.optimizer_state, shape, dtype);
  }

 private:
  friend class UnshardWork;

  /// What a group is doing now.
  struct GroupState {
    int running = 0;             // forwards going on
    int pending_uses = 0;        // forwards whose backward has not ended
    bool has_gradients = false;  // backward writes to its buffers now
    bool reduced = false;        // in this backward
    bool issued = false;         // a gather of current values is on
    bool unsharded = false;      // parameters point at whole buffers
    std::optional<std::vector<std::size_t>> forward_prefetch;  // as set_prefetch() listed them
    std::optional<std::vector<std::size_t>> backward_prefetch;
  };

  /// Polls and watches while it lives: work in the background progresses between the operations of
  /// a forward or backward and inside waits, and a wait that lasts looks into what other ranks have
  /// issued.
  class WatchScope {
   public:
    explicit WatchScope(Engine& engine);

   private:
    std::function<void()> poll_;
    autograd::ScopedInterlude interlude_;
    comm::ScopedWaitProgress progress_;
    comm::ScopedWaitObserver waits_;
  };

  // engine_setup.cpp
  /// `options` by value: laying out anew takes them from the plan it replaces.
  void lay_out(FullyShardOptions options, bool shared);
  void initialise();
  void make_shards();
  void install_hooks();
  void remove_hooks();
  [[nodiscard]] MemoryKind where() const noexcept {
    return device_ != nullptr ? MemoryKind::device : MemoryKind::host;
  }

  // engine.cpp
  nn::Variable before_forward(std::size_t group, const nn::Variable& input);
  nn::Variable after_forward(std::size_t group, const nn::Variable& output);
  void before_backward(std::size_t group);
  void after_backward(std::size_t group);
  void poll();
  [[nodiscard]] nn::Variable placed(const nn::Variable& input) const;
  void issue(std::size_t group);
  [[nodiscard]] bool slot_is_in_use(std::size_t group) const;
  void free_slot(std::size_t group);
  void prefetch(std::size_t group);
  void prefetch_around(std::size_t group, bool forward);
  void unshard(std::size_t group);
  void reshard(std::size_t group);
  void reshard_all();
  /// Takes whatever parameters point at away from them, gathered or not.
  void withdraw_all();
  [[nodiscard]] bool keeps_after_forward(std::size_t group) const;
  [[nodiscard]] bool stays_for_next_micro_batch() const {
    return !last_backward_ && !plan_.options.reshard_after_backward;
  }

  // engine_step.cpp
  void give_gradient_buffers(std::size_t group);
  void drop_gradient_buffers(std::size_t group);
  void reduce(std::size_t group);
  void recover() noexcept;

  // engine_norm.cpp
  /// Blocks until the device has done all it was given, looking after its collectives meanwhile.
  void wait_for_device();
  [[nodiscard]] double read_losses(const std::vector<Tensor>& losses);
  [[nodiscard]] std::optional<NonFinite> locate(const NonFiniteWatch::Place& place) const;

  // engine_report.cpp
  [[nodiscard]] std::vector<dtensor::DTensor> tensors_of(std::size_t buffer) const;

  std::shared_ptr<nn::Module> module_;
  mesh::DeviceMesh mesh_;
  std::unique_ptr<comm::Communicator> world_;  // its ranks are pieces
  std::shared_ptr<runtime::Device> device_;    // null: everything is in host memory
  LevelComms gather_;
  LevelComms reduce_;
  TrafficReport traffic_;

  // What lay_out() makes.
  GroupSet set_;
  StatePlan plan_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<GradientReducer> reducer_;
  IgnoredParameters ignored_;
  PrefetchOrder order_{1};
  std::vector<ParameterShard> shards_;  // trainable buffers in order
  std::vector<std::size_t> buffer_of_shard_;
  std::vector<Tensor> whole_gradients_;  // by buffer: what backward writes to now
  std::vector<GroupState> states_;       // by group

  std::optional<IssueHistory> history_;
  ShardedModel::Counters counters_;
  std::optional<NonFinite> non_finite_;
  double loss_scale_ = 1.0;
  double clip_ = 1.0;
  double grad_scale_ = 1.0;
  bool last_backward_ = true;
  bool gradients_synchronised_ = false;
};

}  // namespace sherd::fsdp
