#include "sherd/optim/optimizer.hpp"

namespace sherd::optim {

Optimizer::Optimizer(ShardedParameters& parameters, double learning_rate,
                     const std::vector<std::string>& slots)
    : parameters_(parameters), learning_rate_(learning_rate) {
  for (const std::string& name : slots) {
    StateSlot& slot = state_[name];
    for (const ParameterShard& shard : parameters_.shards()) {
      slot.push_back(parameters_.make_state(shard.parameter.shape(), shard.parameter.dtype()));
    }
  }
}

void Optimizer::step() {
  parameters_.begin_update();
  ++step_count_;
  for (std::size_t i = 0; i < parameters_.shards().size(); ++i) {
    if (hook_) {
      hook_(i);
    }
    update_shard(i);
    parameters_.end_update(i);
  }
}

void Optimizer::update_shard(std::size_t index) {
  const ParameterShard& shard = parameters_.shards()[index];
  if (!decay_matrices_only_) {
    update(index, 0, shard.parameter.numel(), true);
    return;
  }
  for (const ShardSegment& segment : shard.segments) {
    if (segment.count > 0) {
      update(index, segment.shard_begin, segment.count, segment.global_shape.rank() >= 2);
    }
  }
}

std::size_t Optimizer::state_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, slot] : state_) {
    for (const Tensor& tensor : slot) {
      bytes += tensor.nbytes();
    }
  }
  return bytes;
}

}  // namespace sherd::optim
