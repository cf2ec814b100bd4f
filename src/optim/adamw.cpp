#include "sherd/optim/adamw.hpp"

#include "sherd/tensor/kernel/optimizer.hpp"

namespace sherd::optim {

AdamW::AdamW(ShardedParameters& parameters, AdamWOptions options)
    : Optimizer(parameters, options.learning_rate, {"exp_avg", "exp_avg_sq"}), options_(options) {
  decay_matrices_only_ = options.decay == Decay::matrices;
}

void AdamW::update(std::size_t index, std::int64_t begin, std::int64_t count, bool decay) {
  const ParameterShard& shard = parameters().shards()[index];
  const kernel::AdamWParams params{.learning_rate = learning_rate(),
                                   .beta1 = options_.beta1,
                                   .beta2 = options_.beta2,
                                   .epsilon = options_.epsilon,
                                   .weight_decay = decay ? options_.weight_decay : 0.0,
                                   .grad_scale = parameters().grad_scale(),
                                   .step = step_count()};
  kernel::adamw_step(params, shard.parameter.slice(begin, count),
                     shard.gradient.slice(begin, count), slot("exp_avg")[index].slice(begin, count),
                     slot("exp_avg_sq")[index].slice(begin, count),
                     shard.compute.defined() ? shard.compute.slice(begin, count) : Tensor());
}

}  // namespace sherd::optim
