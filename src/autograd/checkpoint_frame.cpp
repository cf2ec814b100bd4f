#include "autograd/checkpoint_frame.hpp"

#include "autograd/node.hpp"
#include "autograd/thread_state.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

/// Ends a recomputation. Not a std::exception, so that no handler in the body keeps it.
struct RecomputationComplete {};

/// A stand-in for `input` that holds its data but not its history.
Variable without_history(const Variable& input) {
  if (input.is_leaf()) {
    return input;
  }
  auto impl = std::make_shared<VariableImpl>();
  impl->data = input.data();
  impl->requires_grad = input.requires_grad();
  impl->leaf = false;
  return Variable(std::move(impl));
}

}  // namespace

CheckpointFrame::CheckpointFrame(Body body, Variable input)
    : body_(std::move(body)), input_(without_history(input)) {}

Tensor CheckpointFrame::get(std::size_t slot) {
  if (!recomputed_) {
    recompute();
  }
  return recovered_.at(slot);
}

void CheckpointFrame::drop(std::size_t slot) noexcept {
  if (slot < recovered_.size()) {
    recovered_[slot] = Tensor();
  }
}

void CheckpointFrame::recompute() {
  recovered_.reserve(expected_);
  {
    ThreadState& state = thread_state();
    const GradMode on(true);
    const Scoped<CheckpointFrame*> into(state.recomputing_frame, this);
    const Scoped<std::shared_ptr<CheckpointFrame>> not_recording(state.recording_frame, nullptr);
    try {
      (void)body_(input_);
    } catch (const RecomputationComplete&) {
    }
  }
  expect(recovered_.size() == expected_,
         "a checkpointed body did something else when it was run again (its gradient would be "
         "wrong). Try: make it a function of its input and of parameters alone");
  recomputed_ = true;
  body_ = nullptr;
  input_ = Variable();
}

void CheckpointFrame::capture(std::span<const Variable> inputs, std::span<const Tensor> saved) {
  for (const Tensor& tensor : saved) {
    if (!leaf_behind(tensor, inputs)) {
      recovered_.push_back(tensor);
    }
  }
  if (recovered_.size() >= expected_) {
    throw RecomputationComplete();
  }
}

void CheckpointFrame::capture_if_last(std::span<const Variable> inputs,
                                      std::span<const Tensor> saved) {
  std::size_t more = 0;
  for (const Tensor& tensor : saved) {
    more += leaf_behind(tensor, inputs) ? 0U : 1U;
  }
  if (recovered_.size() + more >= expected_) {
    capture(inputs, saved);
  }
}

}  // namespace sherd::autograd
