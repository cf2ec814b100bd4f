#include <algorithm>

#include "autograd/checkpoint_frame.hpp"
#include "autograd/node.hpp"
#include "autograd/record_internal.hpp"
#include "autograd/thread_state.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

std::vector<Variable> wrap(std::vector<Tensor> outputs, bool requires_grad,
                           const std::shared_ptr<Node>& node) {
  std::vector<Variable> results;
  results.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto impl = std::make_shared<VariableImpl>();
    impl->data = std::move(outputs[i]);
    impl->requires_grad = requires_grad;
    impl->leaf = false;
    impl->node = node;
    impl->output = i;
    results.emplace_back(std::move(impl));
  }
  return results;
}

std::vector<Variable> record_wanted(std::string_view name, const std::vector<Variable>& inputs,
                                    std::vector<Tensor> outputs, std::vector<Tensor> saved,
                                    BackwardFunction backward) {
  ThreadState& state = thread_state();
  state.saw_gradient = true;
  if (!state.grad_enabled) {
    return wrap(std::move(outputs), false, nullptr);
  }
  if (state.recomputing_frame != nullptr) {
    state.recomputing_frame->capture(inputs, saved);
    return wrap(std::move(outputs), true, nullptr);
  }
  auto node = std::make_shared<Node>(name, inputs, outputs, std::move(saved), std::move(backward));
  return wrap(std::move(outputs), true, node);
}

bool any_wants_gradient(std::span<const Variable> inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Variable& input) { return input.requires_grad(); });
}

}  // namespace

ThreadState& thread_state() noexcept {
  thread_local ThreadState state;
  return state;
}

std::vector<Variable> record(std::string_view name, std::vector<Variable> inputs,
                             std::vector<Tensor> outputs, std::vector<Tensor> saved,
                             BackwardFunction backward) {
  if (thread_state().interlude) {
    thread_state().interlude();
  }
  if (!any_wants_gradient(inputs)) {
    return wrap(std::move(outputs), false, nullptr);
  }
  return record_wanted(name, inputs, std::move(outputs), std::move(saved), std::move(backward));
}

Variable record_one(std::string_view name, std::vector<Variable> inputs, Tensor output,
                    std::vector<Tensor> saved, BackwardFunction backward) {
  return record(name, std::move(inputs), {std::move(output)}, std::move(saved), std::move(backward))
      .front();
}

Variable record_hidden(std::string_view name, std::vector<Variable> inputs, Tensor output,
                       std::vector<Tensor> saved, BackwardFunction backward) {
  return record_wanted(name, inputs, {std::move(output)}, std::move(saved), std::move(backward))
      .front();
}

void about_to_compute(std::span<const Variable> inputs, std::span<const Tensor> saved) {
  const ThreadState& state = thread_state();
  if (state.recomputing_frame != nullptr && state.grad_enabled && any_wants_gradient(inputs)) {
    state.recomputing_frame->capture_if_last(inputs, saved);
  }
}

bool grad_enabled() noexcept { return thread_state().grad_enabled; }

GradMode::GradMode(bool enabled) noexcept
    : previous_(std::exchange(thread_state().grad_enabled, enabled)) {}

GradMode::~GradMode() { thread_state().grad_enabled = previous_; }

ScopedInterlude::ScopedInterlude(std::function<void()> call)
    : previous_(std::exchange(thread_state().interlude, std::move(call))) {}

ScopedInterlude::~ScopedInterlude() { thread_state().interlude = std::move(previous_); }

}  // namespace sherd::autograd
