#include "sherd/fsdp/fully_shard.hpp"

#include <utility>

#include "fsdp/engine.hpp"

namespace sherd::fsdp {

ShardedModel::ShardedModel(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
ShardedModel::~ShardedModel() = default;
ShardedModel::ShardedModel(ShardedModel&&) noexcept = default;
ShardedModel& ShardedModel::operator=(ShardedModel&&) noexcept = default;

nn::Variable ShardedModel::operator()(const nn::Variable& input) { return engine_->forward(input); }
void ShardedModel::backward(const nn::Variable& loss) { engine_->backward(loss); }
void ShardedModel::set_is_last_backward(bool last) { engine_->set_is_last_backward(last); }
double ShardedModel::clip_grad_norm(double max_norm, StepValues* values) {
  return engine_->clip_grad_norm(max_norm, values);
}
ShardedParameters& ShardedModel::parameters() { return *engine_; }
dtensor::StateDict ShardedModel::state_dict() { return engine_->state_dict(); }
void ShardedModel::parameters_changed() { engine_->parameters_changed(); }
MemoryReport ShardedModel::memory() const { return engine_->memory(); }
std::vector<GroupReport> ShardedModel::groups() const { return engine_->groups(); }
ShardedModel::Counters ShardedModel::counters() const { return engine_->counters(); }
nn::Module& ShardedModel::module() const { return engine_->module(); }

ShardedModel fully_shard(std::shared_ptr<nn::Module> module, comm::MeshComms& comms,
                         FullyShardOptions options) {
  return ShardedModel(std::make_unique<Engine>(std::move(module), comms, std::move(options)));
}

}  // namespace sherd::fsdp
