// Engine: gradients, from the buffers backward writes to until their sum and norm.
#include <algorithm>
#include <cmath>

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

}  // namespace sherd::fsdp
