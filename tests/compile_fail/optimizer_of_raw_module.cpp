#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/optim/adamw.hpp"

/// An optimizer of whole parameters would update what is about to be cut: it takes the sharded
/// ones.
void train(sherd::nn::Module& module, sherd::fsdp::ShardedModel& model) {
#ifdef SHERD_MISUSE
  sherd::optim::AdamW optimizer(module);
#else
  static_cast<void>(module);
  sherd::optim::AdamW optimizer(model.parameters());
#endif
  optimizer.step();
}
