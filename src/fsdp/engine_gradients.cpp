// Engine: gradients, from the buffers backward writes to until their sum and norm.
#include <algorithm>

#include "fsdp/engine.hpp"
#include "sherd/autograd/function.hpp"

namespace sherd::fsdp {
namespace {

/// Zeroes what lies between and behind the parameters of a buffer.
void zero_gaps(const GroupLayout& layout, const Tensor& buffer) {
  std::int64_t end = 0;
  for (const ParameterSlot& slot : layout.slots()) {
    buffer.slice(end, slot.offset - end).fill_zero();
    end = slot.offset + slot.numel;
  }
  buffer.slice(end, layout.buffer_numel() - end).fill_zero();
}

}  // namespace

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
      nn::Variable value = buffer.parameters[i].value;
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
      if (!buffer.parameters[i].value.grad_written()) {
        view_of(whole_gradients_[b], buffer.layout.slots()[i]).fill_zero();
      }
    }
    issued_log_->reduction(group);
    ++counters_.reductions;
    reducer_->reduce(b, last_backward_);
  }
  drop_gradient_buffers(group);
  reduced_[group] = true;
}

/// Points parameters away from the memory backward wrote to.
void Engine::drop_gradient_buffers(std::size_t group) {
  for (const std::size_t b : set_.groups[group].buffers) {
    if (!set_.buffers[b].trainable || !whole_gradients_[b].defined()) {
      continue;
    }
    for (const nn::NamedParameter& parameter : set_.buffers[b].parameters) {
      nn::Variable value = parameter.value;
      value.set_grad_buffer({});
    }
    whole_gradients_[b] = {};
  }
  has_gradients_[group] = false;
}

void Engine::backward(const nn::Variable& loss) {
  const Attention attention(*this);
  issued_log_->backward();
  gradients_synchronised_ = false;
  reducer_->next_micro_batch();
  std::fill(reduced_.begin(), reduced_.end(), false);
  try {
    autograd::backward(loss);
    for (std::size_t g = set_.groups.size(); g-- > 0;) {
      if (!reduced_[g] || has_gradients_[g]) {
        reduce(g);
      }
    }
    if (!stays_for_next_micro_batch()) {
      reshard_all();
    }
    std::fill(pending_uses_.begin(), pending_uses_.end(), 0);
    if (last_backward_) {
      reducer_->finish_all();
      ignored_.reduce(*world_, reduce_);
    }
  } catch (...) {
    recover();
    throw;
  }
}

}  // namespace sherd::fsdp
