// Engine: a step, from the buffers backward writes gradients to until the optimizer has changed the
// parameters; and the way back after an error. The norm in between: engine_norm.cpp.
#include <algorithm>
#include <exception>
#include <string>

#include "fsdp/engine.hpp"
#include "sherd/autograd/function.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

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

/// Whether the exception in flight says that other ranks cannot be reached.
bool others_are_lost() noexcept {
  try {
    throw;
  } catch (const CommError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

// ---------------------------------------------------------------------------- gradients

void Engine::give_gradient_buffers(std::size_t group) {
  if (states_[group].has_gradients) {
    return;
  }
  // A group used again later in this backward may hold the slot: what it has so far is reduced now.
  for (std::size_t other = 0; other < set_.groups.size(); ++other) {
    if (other != group && states_[other].has_gradients && reducer_->share_slot(group, other)) {
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
  states_[group].has_gradients = true;
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
    history_->reduction(group);
    ++counters_.reductions;
    reducer_->reduce(b, last_backward_);
  }
  drop_gradient_buffers(group);
  states_[group].reduced = true;
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
  states_[group].has_gradients = false;
}

void Engine::backward(const nn::Variable& loss) {
  const WatchScope watch(*this);
  history_->backward();
  gradients_synchronised_ = false;
  reducer_->next_micro_batch();
  for (GroupState& state : states_) {
    state.reduced = false;
  }
  try {
    autograd::backward(loss);
    // Groups whose after_backward() was not called (their input wants no gradient, as the root's,
    // or the loss does not depend on them) or that were written to again since; in one order on all
    // ranks, as all collectives are.
    for (std::size_t g = set_.groups.size(); g-- > 0;) {
      if (!states_[g].reduced || states_[g].has_gradients) {
        reduce(g);
      }
    }
    if (!stays_for_next_micro_batch()) {
      reshard_all();
    }
    for (GroupState& state : states_) {
      state.pending_uses = 0;
    }
    if (last_backward_) {
      reducer_->finish_all();  // first: collectives on reduce_ come in one order on all ranks
      ignored_.reduce(*world_, reduce_);
    }
  } catch (...) {
    recover();
    throw;
  }
}

// ---------------------------------------------------------------------------- updates

void Engine::begin_update() {
  const WatchScope watch(*this);
  history_->update();
  reshard_all();  // what a forward nobody differentiated has kept
  store_->finish();
  // A rank's masters may be the memory other ranks read as parameters, so no rank may change one
  // before all have come past their last read of this step. The norm's exchange is such a point;
  // without it a barrier is one.
  if (!gradients_synchronised_) {
    reducer_->finish_all();
    world_->barrier();
    gradients_synchronised_ = true;
  }
}

void Engine::end_update(std::size_t shard) {
  const std::size_t b = buffer_of_shard_[shard];
  store_->publish(b);
  states_[set_.buffers[b].group].issued = false;
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
    states_[set_.buffers[b].group].issued = false;
  }
}

// ---------------------------------------------------------------------------- errors

/// Brings the engine back to where the next step can begin, after forward or backward has thrown:
/// every group is given back and no gradient is left. Collectives this rank has issued are waited
/// for: an error that all ranks meet alike finds all of them behind the same collectives, so
/// nothing is waited for that another rank will not issue. Where the error says that other ranks
/// cannot be reached (CommError), the engine is left as it is: each wait would last as long as the
/// one that failed.
void Engine::recover() noexcept {
  if (others_are_lost()) {
    return;
  }
  try {
    for (std::size_t g = 0; g < set_.groups.size(); ++g) {
      drop_gradient_buffers(g);
      states_[g].running = 0;
      states_[g].pending_uses = 0;
    }
    reducer_->finish_all();
    zero_grad();
    reshard_all();
    for (std::size_t g = 0; g < set_.groups.size(); ++g) {
      if (states_[g].issued) {
        store_->reshard(g);
        states_[g].issued = false;
      }
    }
    store_->finish();
  } catch (const std::exception& error) {
    log::info(std::string("after an error, giving the groups back failed too: ") + error.what());
  }
}

}  // namespace sherd::fsdp
