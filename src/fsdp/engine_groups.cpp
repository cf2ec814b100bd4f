// Engine: what a caller asks of single groups, and laying out anew.
#include <algorithm>
#include <utility>

#include "fsdp/engine.hpp"
#include "fsdp/redistribute.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {

/// A gather the caller started: waiting for it makes the group's parameters usable.
class UnshardWork final : public comm::WorkState {
 public:
  UnshardWork(Engine& engine, std::size_t group) : engine_(engine), group_(group) {}

  bool test() override {
    if (!engine_.unsharded_[group_] && !engine_.store_->ready(group_)) {
      return false;
    }
    wait();
    return true;
  }
  void wait() override {
    const Engine::Attention attention(engine_);
    engine_.unshard(group_);
  }

 private:
  Engine& engine_;
  std::size_t group_;
};

comm::Work Engine::start_unshard(const std::string& name) {
  const std::size_t group = set_.find(name);
  issue(group);
  return comm::Work(std::make_unique<UnshardWork>(*this, group));
}

void Engine::give_back(const std::string& name) {
  const std::size_t group = set_.find(name);
  expect(running_[group] == 0 && !has_gradients_[group],
         "reshard() of a group that is computing. Try: after its forward, or after backward()");
  if (issued_[group] && !unsharded_[group]) {
    store_->reshard(group);
    issued_[group] = false;
  }
  reshard(group);
}

void Engine::set_prefetch(bool forward, const std::string& name,
                          const std::vector<std::string>& groups) {
  std::vector<std::size_t> indices;
  for (const std::string& other : groups) {
    indices.push_back(set_.find(other));
  }
  auto& lists = forward ? forward_prefetch_ : backward_prefetch_;
  lists[set_.find(name)] = std::move(indices);
}

void Engine::set_requires_grad(const std::function<bool(const std::string& name)>& wanted) {
  reducer_->finish_all();
  store_->finish();
  zero_grad();
  world_->barrier();
  const dtensor::StateDict before = state_dict();
  remove_hooks();
  std::vector<nn::NamedParameter> parameters = nn::named_parameters(*module_);
  for (nn::NamedParameter& parameter : parameters) {
    nn::Variable& value = parameter.value;
    if (is_floating(value.dtype())) {
      value.set_requires_grad(wanted(parameter.name));
    }
  }
  lay_out(plan_.options, plan_.shared);  // the old parts live on in `before`
  make_shards();
  redistribute(before, state_dict(), *world_);
  parameters_changed();
  std::fill(unsharded_.begin(), unsharded_.end(), true);
  reshard_all();
  install_hooks();
}

}  // namespace sherd::fsdp
