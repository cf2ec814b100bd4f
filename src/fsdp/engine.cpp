// Engine: gathering, the hooks around forward and backward, and updates.
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
  const Attention attention(*this);
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
  const Attention attention(*this);
  try {
    return after_forward(0, body(before_forward(0, placed(input))));
  } catch (...) {
    recover();
    throw;
  }
}

Engine::Attention::Attention(Engine& engine)
    : poll_([&engine] { engine.poll(); }),
      interlude_(poll_),
      progress_(poll_),
      waits_(engine.issued_log_->observer()) {}

void Engine::poll() {
  store_->poll();
  reducer_->poll();
}

// ------------------------------------------------------------------------------ gathering

bool Engine::slot_is_in_use(std::size_t group) const {
  for (std::size_t other = 0; other < set_.groups.size(); ++other) {
    if (other != group && unsharded_[other] && store_->share_slot(group, other)) {
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
      expect(running_[other] == 0,
             "a group is needed inside another one that holds the same gather slot. Try: a larger "
             "prefetch_depth");
      reshard(other);
      issued_[other] = false;
    }
  }
}

void Engine::issue(std::size_t group) {
  if (!issued_[group]) {
    free_slot(group);
    issued_[group] = true;
    issued_log_->gather(group);
    ++counters_.gathers;
    store_->unshard(group);
  }
}

void Engine::prefetch(std::size_t group) {
  if (group != 0 && !issued_[group] && !slot_is_in_use(group)) {
    ++counters_.prefetched;
    issue(group);
  }
}

/// The groups that come next, as listed by the caller or as recorded.
void Engine::prefetch_around(std::size_t group, bool forward) {
  const auto& listed = forward ? forward_prefetch_[group] : backward_prefetch_[group];
  if (listed) {
    for (const std::size_t next : *listed) {
      prefetch(next);
    }
    return;
  }
  for (int d = 1; group != 0 && d <= plan_.options.prefetch_depth; ++d) {
    const auto distance = static_cast<std::size_t>(d);
    prefetch(forward ? order_.after(group, distance) : order_.before(group, distance));
  }
}

void Engine::unshard(std::size_t group) {
  gradients_synchronised_ = false;  // the next update must wait until all ranks have read this
  if (unsharded_[group]) {
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
  unsharded_[group] = true;
}

void Engine::reshard(std::size_t group) {
  if (!unsharded_[group]) {
    return;
  }
  for (const std::size_t b : set_.groups[group].buffers) {
    for (const nn::NamedParameter& parameter : set_.buffers[b].parameters) {
      nn::Variable value = parameter.value;
      value.set_data(Tensor::meta(value.shape(), set_.buffers[b].compute));
    }
  }
  store_->reshard(group);
  unsharded_[group] = false;
  issued_[group] = false;
}

void Engine::reshard_all() {
  for (std::size_t g = 0; g < set_.groups.size(); ++g) {
    reshard(g);
  }
}

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
  ++running_[group];
  prefetch_around(group, true);
  if (!autograd::grad_enabled()) {
    return input;
  }
  ++pending_uses_[group];
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
  if (--running_[group] == 0 && !keeps_after_forward(group)) {
    reshard(group);
  }
  return output.requires_grad()
             ? hang_on(output, "sherd::before_backward", [this, group] { before_backward(group); })
             : output;
}

void Engine::before_backward(std::size_t group) {
  unshard(group);
  prefetch_around(group, false);
  give_gradient_buffers(group);
}

void Engine::after_backward(std::size_t group) {
  if (--pending_uses_[group] > 0) {
    return;
  }
  if (group != 0 && !stays_for_next_micro_batch()) {
    reshard(group);
  }
  reduce(group);
}

// ---------------------------------------------------------------------------- updates

void Engine::begin_update() {
  const Attention attention(*this);
  issued_log_->update();
  reshard_all();  // what a forward nobody differentiated has kept
  store_->finish();
  if (!gradients_synchronised_) {
    reducer_->finish_all();
    world_->barrier();
    gradients_synchronised_ = true;
  }
}

void Engine::end_update(std::size_t shard) {
  const std::size_t b = buffer_of_shard_[shard];
  store_->publish(b);
  issued_[set_.buffers[b].group] = false;
}

void Engine::zero_grad() {
  reducer_->finish_all();
  reducer_->zero();
  ignored_.zero();
  clip_ = 1.0;
  grad_scale_ = 1.0 / loss_scale_;
}

void Engine::set_loss_scale(double scale) {
  expect(scale > 0.0, "a loss scale must be positive");
  loss_scale_ = scale;
  grad_scale_ = clip_ / loss_scale_;
}

void Engine::parameters_changed() {
  reshard_all();
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    if (store_->compute(b).defined()) {
      convert(store_->master(b), store_->compute(b));
    }
    store_->publish(b);
    issued_[set_.buffers[b].group] = false;
  }
}

}  // namespace sherd::fsdp
