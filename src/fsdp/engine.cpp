// Engine: the life of a group. Gathered ahead or when it is needed, used by forward and backward
// between their hooks, given back; and what a caller asks of single groups.
#include "fsdp/engine.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "sherd/autograd/function.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// An identity in the graph whose backward calls `then` before passing the gradient on.
nn::Variable hang_on(const nn::Variable& x, const char* name, std::function<void()> then) {
  return autograd::record_one(name, {x}, x.data(), {},
                              [then = std::move(then)](autograd::BackwardContext& context) {
                                then();
                                context.pass(0, context.grad_output(0));
                              });
}

}  // namespace

/// Data where the parameters are. Indices (of tokens) may stay: kernels check them on the host.
nn::Variable Engine::placed(const nn::Variable& input) const {
  const bool moves = where() == MemoryKind::device && is_floating(input.dtype()) &&
                     !input.data().is_on_device() && !input.requires_grad();
  return moves ? nn::Variable(to_device(input.data())) : input;
}

nn::Variable Engine::forward(const nn::Variable& given) {
  const nn::Variable input = placed(given);
  const DType wanted = plan_.policy().param_dtype;
  const bool casts =
      plan_.policy().cast_forward_inputs && is_floating(input.dtype()) && input.dtype() != wanted;
  const auto output_dtype = plan_.policy().output_dtype;
  const WatchScope watch(*this);
  try {
    nn::Variable output = (*module_)(casts ? autograd::cast(input, wanted) : input);
    return output_dtype && output.dtype() != *output_dtype ? autograd::cast(output, *output_dtype)
                                                           : output;
  } catch (...) {
    recover();
    throw;
  }
}

nn::Variable Engine::run(const nn::Variable& input, const Body& body) {
  const WatchScope watch(*this);
  try {
    return after_forward(0, body(before_forward(0, placed(input))));
  } catch (...) {
    recover();
    throw;
  }
}

Engine::WatchScope::WatchScope(Engine& engine)
    : poll_([&engine] { engine.poll(); }),
      interlude_(poll_),
      progress_(poll_),
      waits_(engine.history_->observer()) {}

void Engine::poll() {
  store_->poll();
  reducer_->poll();
}

// ------------------------------------------------------------------------------ gathering

bool Engine::slot_is_in_use(std::size_t group) const {
  for (std::size_t other = 0; other < set_.groups.size(); ++other) {
    if (other != group && states_[other].unsharded && store_->share_slot(group, other)) {
      return true;
    }
  }
  return false;
}

/// Takes the slot `group` needs from whoever holds it: a group kept for a backward that comes later
/// than expected, or a gather nobody came for.
void Engine::free_slot(std::size_t group) {
  for (std::size_t other = 0; other < set_.groups.size(); ++other) {
    if (other != group && store_->share_slot(group, other)) {
      expect(states_[other].running == 0,
             "a group is needed inside another one that holds the same gather slot. Try: a larger "
             "prefetch_depth");
      reshard(other);
      states_[other].issued = false;
    }
  }
}

void Engine::issue(std::size_t group) {
  if (!states_[group].issued) {
    free_slot(group);
    states_[group].issued = true;
    history_->gather(group);
    ++counters_.gathers;
    store_->unshard(group);
  }
}

void Engine::prefetch(std::size_t group) {
  if (group != 0 && !states_[group].issued && !slot_is_in_use(group)) {
    ++counters_.prefetched;
    issue(group);
  }
}

/// The groups that come next, as listed by the caller or as recorded.
void Engine::prefetch_around(std::size_t group, bool forward) {
  const GroupState& state = states_[group];
  const auto& listed = forward ? state.forward_prefetch : state.backward_prefetch;
  if (listed) {
    for (const std::size_t next : *listed) {
      prefetch(next);
    }
    return;
  }
  // The root is gathered for the whole step and has no place in the order.
  for (int d = 1; group != 0 && d <= plan_.options.prefetch_depth; ++d) {
    const auto distance = static_cast<std::size_t>(d);
    prefetch(forward ? order_.after(group, distance) : order_.before(group, distance));
  }
}

void Engine::unshard(std::size_t group) {
  gradients_synchronised_ = false;  // the next update must wait until all ranks have read this
  if (states_[group].unsharded) {
    return;
  }
  issue(group);
  for (const std::size_t b : set_.groups[group].buffers) {
    const FlatBuffer& buffer = set_.buffers[b];
    const Tensor whole = store_->whole(b);
    for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
      nn::Variable value = buffer.parameters[i].value;
      value.set_data(view_of(whole, buffer.layout.slots()[i]));
    }
  }
  states_[group].unsharded = true;
}

void Engine::reshard(std::size_t group) {
  if (!states_[group].unsharded) {
    return;
  }
  for (const std::size_t b : set_.groups[group].buffers) {
    for (const nn::NamedParameter& parameter : set_.buffers[b].parameters) {
      nn::Variable value = parameter.value;
      value.set_data(Tensor::meta(value.shape(), set_.buffers[b].compute));
    }
  }
  store_->reshard(group);
  states_[group].unsharded = false;
  states_[group].issued = false;
}

void Engine::reshard_all() {
  for (std::size_t g = 0; g < set_.groups.size(); ++g) {
    reshard(g);
  }
}

void Engine::withdraw_all() {
  for (GroupState& state : states_) {
    state.unsharded = true;
  }
  reshard_all();
}

/// The last group of a forward is the first its backward needs.
bool Engine::keeps_after_forward(std::size_t group) const {
  return autograd::grad_enabled() && (plan_.keep[group] || group == order_.last());
}

// ---------------------------------------------------------------------------- the hooks

nn::Variable Engine::before_forward(std::size_t group, const nn::Variable& input) {
  if (autograd::in_backward()) {  // recomputation of a surrounding module: backward gathered
                                  // already
    return input;
  }
  if (group == 0) {
    order_.start_forward();
    prefetch(order_.first());
  } else {
    order_.record(group);
  }
  unshard(group);
  ++states_[group].running;
  prefetch_around(group, true);
  if (!autograd::grad_enabled()) {
    return input;
  }
  ++states_[group].pending_uses;
  return input.requires_grad()
             ? hang_on(input, "sherd::after_backward", [this, group] { after_backward(group); })
             : input;
}

nn::Variable Engine::after_forward(std::size_t group, const nn::Variable& output) {
  if (autograd::in_backward()) {
    return output;
  }
  if (group == 0) {
    order_.end_forward();
  }
  if (--states_[group].running == 0 && !keeps_after_forward(group)) {
    reshard(group);
  }
  return output.requires_grad()
             ? hang_on(output, "sherd::before_backward", [this, group] { before_backward(group); })
             : output;
}

void Engine::before_backward(std::size_t group) {
  unshard(group);
  prefetch_around(group, false);  // behind the group's own gather, ahead of a wait for a slot
  give_gradient_buffers(group);
}

void Engine::after_backward(std::size_t group) {
  if (--states_[group].pending_uses > 0) {
    return;
  }
  // Given back first: its slot is free for the next gather while the reduction waits for peers.
  if (group != 0 && !stays_for_next_micro_batch()) {
    reshard(group);
  }
  reduce(group);
}

// ---------------------------------------------------------------------------- single groups

/// A gather the caller started: waiting for it makes the group's parameters usable.
class UnshardWork final : public comm::WorkState {
 public:
  UnshardWork(Engine& engine, std::size_t group) : engine_(engine), group_(group) {}

  bool test() override {
    if (!engine_.states_[group_].unsharded && !engine_.store_->ready(group_)) {
      return false;
    }
    wait();
    return true;
  }
  void wait() override {
    const Engine::WatchScope watch(engine_);
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
  expect(states_[group].running == 0 && !states_[group].has_gradients,
         "reshard() of a group that is computing. Try: after its forward, or after backward()");
  if (states_[group].issued && !states_[group].unsharded) {
    store_->reshard(group);
    states_[group].issued = false;
  }
  reshard(group);
}

void Engine::set_prefetch(bool forward, const std::string& name,
                          const std::vector<std::string>& groups) {
  std::vector<std::size_t> indices;
  for (const std::string& other : groups) {
    indices.push_back(set_.find(other));
  }
  GroupState& state = states_[set_.find(name)];
  (forward ? state.forward_prefetch : state.backward_prefetch) = std::move(indices);
}

}  // namespace sherd::fsdp
