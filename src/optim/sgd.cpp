#include "sherd/optim/sgd.hpp"

#include "sherd/tensor/kernel/optimizer.hpp"

namespace sherd::optim {

Sgd::Sgd(ShardedParameters& parameters, SgdOptions options)
    : Optimizer(parameters, options.learning_rate,
                options.momentum != 0.0 ? std::vector<std::string>{"momentum_buffer"}
                                        : std::vector<std::string>{}),
      options_(options) {
  decay_matrices_only_ = options.decay == Decay::matrices;
}

void Sgd::update(std::size_t index, std::int64_t begin, std::int64_t count, bool decay) {
  const ParameterShard& shard = parameters().shards()[index];
  const kernel::SgdParams params{.learning_rate = learning_rate(),
                                 .momentum = options_.momentum,
                                 .weight_decay = decay ? options_.weight_decay : 0.0,
                                 .grad_scale = parameters().grad_scale(),
                                 .first_step = step_count() == 1};
  kernel::sgd_step(
      params, shard.parameter.slice(begin, count), shard.gradient.slice(begin, count),
      options_.momentum != 0.0 ? slot("momentum_buffer")[index].slice(begin, count) : Tensor(),
      shard.compute.defined() ? shard.compute.slice(begin, count) : Tensor());
}

}  // namespace sherd::optim
