#include "sherd/config/options.hpp"

#include "sherd/optim/adamw.hpp"
#include "sherd/optim/sgd.hpp"

namespace sherd::config {

std::shared_ptr<nn::Module> make_model(const TrainConfig& config) {
  std::optional<autograd::Recompute> recompute;
  if (config.fsdp_config.activation_checkpointing) {
    recompute = config.fsdp_config.use_reentrant ? autograd::Recompute::reentrant
                                                 : autograd::Recompute::non_reentrant;
  }
  return config.model.spec.make(recompute);
}

namespace {

std::optional<DType> dtype_or_none(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(parse_dtype(name));
}

fsdp::MixedPrecisionPolicy precision(const FsdpConfig& config) {
  fsdp::MixedPrecisionPolicy policy;
  if (config.mixed_precision) {
    policy.param_dtype = config.fp16 ? DType::f16 : DType::bf16;
  }
  policy.reduce_dtype = dtype_or_none(config.reduce_dtype);
  policy.cross_reduce_dtype = dtype_or_none(config.cross_reduce_dtype);
  policy.accumulate_dtype = dtype_or_none(config.accumulate_dtype);
  return policy;
}

}  // namespace

fsdp::FullyShardOptions fsdp_options(const TrainConfig& config) {
  fsdp::FullyShardOptions options;
  options.strategy = config.fsdp_config.sharding_strategy;
  options.prefetch_depth = config.fsdp_config.prefetch_depth;
  options.seed = config.training.seed;
  options.reduction_slots = config.fsdp_config.reduction_slots;
  options.reshard_after_forward = config.fsdp_config.reshard_after_forward;
  options.reshard_after_backward = config.fsdp_config.reshard_after_backward;
  options.accumulation = config.fsdp_config.gradient_accumulation;
  options.mixed_precision = precision(config.fsdp_config);
  return options;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerConfig& config,
                                                 ShardedParameters& parameters) {
  const optim::Decay decay =
      config.decay == OptimizerConfig::Decay::matrices ? optim::Decay::matrices : optim::Decay::all;
  if (config.name == OptimizerConfig::Name::sgd) {
    return std::make_unique<optim::Sgd>(parameters,
                                        optim::SgdOptions{.learning_rate = config.learning_rate,
                                                          .momentum = config.momentum,
                                                          .weight_decay = config.weight_decay,
                                                          .decay = decay});
  }
  return std::make_unique<optim::AdamW>(parameters,
                                        optim::AdamWOptions{.learning_rate = config.learning_rate,
                                                            .beta1 = config.betas[0],
                                                            .beta2 = config.betas[1],
                                                            .epsilon = config.epsilon,
                                                            .weight_decay = config.weight_decay,
                                                            .decay = decay});
}

int optimizer_slots(const OptimizerConfig& config) {
  if (config.name == OptimizerConfig::Name::adamw) {
    return 2;
  }
  return config.momentum != 0.0 ? 1 : 0;
}

}  // namespace sherd::config
