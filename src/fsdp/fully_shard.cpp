// ShardedModel hands every call to its Engine: the engine's members stay out of the public header.
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
nn::Variable ShardedModel::run(const nn::Variable& input,
                               const std::function<nn::Variable(const nn::Variable&)>& body) {
  return engine_->run(input, body);
}
double ShardedModel::clip_grad_norm(double max_norm, StepValues* values, NormType type) {
  return engine_->clip_grad_norm(max_norm, values, type);
}
const std::optional<NonFinite>& ShardedModel::non_finite() const { return engine_->non_finite(); }
void ShardedModel::set_loss_scale(double scale) { engine_->set_loss_scale(scale); }
comm::Work ShardedModel::unshard(const std::string& group) { return engine_->start_unshard(group); }
void ShardedModel::reshard(const std::string& group) { engine_->give_back(group); }
void ShardedModel::set_forward_prefetch(const std::string& group,
                                        const std::vector<std::string>& groups) {
  engine_->set_prefetch(true, group, groups);
}
void ShardedModel::set_backward_prefetch(const std::string& group,
                                         const std::vector<std::string>& groups) {
  engine_->set_prefetch(false, group, groups);
}
void ShardedModel::set_requires_grad(const std::function<bool(const std::string& name)>& wanted) {
  engine_->set_requires_grad(wanted);
}
std::vector<nn::NamedParameter> ShardedModel::ignored_parameters() const {
  return engine_->ignored_parameters();
}
const TrafficReport& ShardedModel::traffic() const { return engine_->traffic(); }
ShardingPlan ShardedModel::plan(int micro_batches) const { return engine_->plan(micro_batches); }
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
