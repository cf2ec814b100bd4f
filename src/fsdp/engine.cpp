// Longer than usual: the whole life of a group, from gather to update, in the order it happens. Setting
// the engine up is engine_setup.cpp.

#include "fsdp/engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

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

/// Zeroes what lies between and behind the parameters of a buffer.
void zero_gaps(const GroupLayout& layout, const Tensor& buffer) {
  std::int64_t end = 0;
  for (const ParameterSlot& slot : layout.slots()) {
    buffer.slice(end, slot.offset - end).fill_zero();
    end = slot.offset + slot.numel;
  }
  buffer.slice(end, layout.buffer_numel() - end).fill_zero();
}

Tensor view_of(const Tensor& buffer, const ParameterSlot& slot) {
  return buffer.slice(slot.offset, slot.numel).reshape(slot.shape);
}

}  // namespace

nn::Variable Engine::forward(const nn::Variable& input) {
  const DType wanted = options_.mixed_precision.param_dtype;
  if (options_.mixed_precision.cast_forward_inputs && is_floating(input.dtype()) &&
      input.dtype() != wanted) {
    return (*module_)(autograd::cast(input, wanted));
  }
  return (*module_)(input);
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
    fingerprint_.add(Fingerprint::Operation::unshard, group);
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

void Engine::unshard(std::size_t group) {
  if (unsharded_[group]) {
    return;
  }
  issue(group);
  for (const std::size_t b : set_.groups[group].buffers) {
    const FlatBuffer& buffer = set_.buffers[b];
    const Tensor whole = store_->whole(b);
    for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
      nn::Variable value = buffer.parameters[i].parameter.value;
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
      nn::Variable value = parameter.parameter.value;
      value.set_data(Tensor::meta(value.shape(), options_.mixed_precision.param_dtype));
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
  return autograd::grad_enabled() &&
         (group == 0 || row_.keep_after_forward || group == order_.last());
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
  for (int d = 1; group != 0 && d <= options_.prefetch_depth; ++d) {
    prefetch(order_.after(group, static_cast<std::size_t>(d)));
  }
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
  for (int d = 1; group != 0 && d <= options_.prefetch_depth; ++d) {
    prefetch(order_.before(group, static_cast<std::size_t>(d)));
  }
  give_gradient_buffers(group);
}

void Engine::after_backward(std::size_t group) {
  if (--pending_uses_[group] > 0) {
    return;
  }
  if (group != 0) {
    reshard(group);
  }
  reduce(group);
}

// -------------------------------------------------------------------------- gradients

void Engine::give_gradient_buffers(std::size_t group) {
  if (has_gradients_[group]) {
    return;
  }
  // A group used again later in this backward may hold the slot: what it has so far is reduced now.
  for (std::size_t other = 0; other < set_.groups.size(); ++other) {
    if (other != group && has_gradients_[other] && reducer_->share_slot(group, other)) {
      reduce(other);
    }
  }
  for (const std::size_t b : set_.groups[group].buffers) {
    const FlatBuffer& buffer = set_.buffers[b];
    if (!buffer.trainable) {
      continue;
    }
    const Tensor whole = whole_gradients_[b] = reducer_->begin(b);
    const bool adds = reducer_->adds_in_place(b);
    zero_gaps(buffer.layout, whole);
    for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
      nn::Variable value = buffer.parameters[i].parameter.value;
      value.set_grad_buffer(view_of(whole, buffer.layout.slots()[i]), adds);
    }
  }
  has_gradients_[group] = true;
}

void Engine::reduce(std::size_t group) {
  give_gradient_buffers(group);
  for (const std::size_t b : set_.groups[group].buffers) {
    const FlatBuffer& buffer = set_.buffers[b];
    if (!buffer.trainable) {
      continue;
    }
    for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
      nn::Variable value = buffer.parameters[i].parameter.value;
      if (!value.grad_written()) {
        view_of(whole_gradients_[b], buffer.layout.slots()[i]).fill_zero();
      }
      value.set_grad_buffer({});
    }
    whole_gradients_[b] = {};
    fingerprint_.add(Fingerprint::Operation::reduce, group);
    ++counters_.reductions;
    reducer_->reduce(b, last_backward_);
  }
  has_gradients_[group] = false;
  reduced_[group] = true;
}

void Engine::backward(const nn::Variable& loss) {
  gradients_synchronised_ = false;
  std::fill(reduced_.begin(), reduced_.end(), false);
  autograd::backward(loss);
  for (std::size_t g = set_.groups.size(); g-- > 0;) {
    if (!reduced_[g] || has_gradients_[g]) {
      reduce(g);
    }
  }
  reshard_all();
  std::fill(pending_uses_.begin(), pending_uses_.end(), 0);
  if (last_backward_) {
    reducer_->finish_all();
  }
}

double Engine::clip_grad_norm(double max_norm, StepValues* values) {
  reducer_->finish_all();
  struct Exchange {
    double sum_of_squares;
    double loss;
    double flag;
    Fingerprint::Record issued;
  };
  const auto ranks = static_cast<std::size_t>(reduce_comm_->size());
  Exchange mine{reducer_->stats().sum_of_squares, values != nullptr ? values->loss : 0.0,
                values != nullptr ? values->flag : 0.0, fingerprint_.record()};
  std::vector<Exchange> all(ranks);
  reduce_comm_->all_gather(&mine, all.data(), sizeof(Exchange), DType::u8).wait();
  Exchange sum{};
  std::vector<Fingerprint::Record> records;
  for (const Exchange& one : all) {
    sum.sum_of_squares += one.sum_of_squares;
    sum.loss += one.loss;
    sum.flag += one.flag;
    records.push_back(one.issued);
  }
  std::vector<std::string> names;
  for (const Group& group : set_.groups) {
    names.push_back(group.name);
  }
  require_equal(records, names);
  gradients_synchronised_ = true;
  if (values != nullptr) {
    *values = {sum.loss, sum.flag};
  }
  const double norm = std::sqrt(sum.sum_of_squares);
  grad_scale_ = max_norm > 0.0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
  return norm;
}

// ---------------------------------------------------------------------------- updates

void Engine::begin_update() {
  if (!gradients_synchronised_) {
    reducer_->finish_all();
    reduce_comm_->barrier();
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
  grad_scale_ = 1.0;
}

void Engine::parameters_changed() {
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    if (store_->compute(b).defined()) {
      convert(store_->master(b), store_->compute(b));
    }
    store_->publish(b);
    issued_[set_.buffers[b].group] = false;
  }
}

}  // namespace sherd::fsdp
