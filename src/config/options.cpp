// What a configuration says, translated for the modules that do it.
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

fsdp::FullyShardOptions fsdp_options(const TrainConfig& config) {
  fsdp::FullyShardOptions options = config.fsdp_config.options;
  options.seed = config.training.seed;
  if (config.fsdp_config.mixed_precision) {
    options.mixed_precision.param_dtype = config.fsdp_config.fp16 ? DType::f16 : DType::bf16;
  }
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
