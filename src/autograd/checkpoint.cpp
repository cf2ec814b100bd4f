#include "autograd/checkpoint_frame.hpp"
#include "autograd/node.hpp"
#include "autograd/record_internal.hpp"
#include "autograd/thread_state.hpp"

namespace sherd::autograd {
namespace {

using Body = CheckpointFrame::Body;

/// A leaf that stands for the body's input while it is differentiated: its gradient has the type an
/// intermediate's would have, so that results are the same bits as without checkpointing.
Variable stand_in(Tensor data, bool requires_grad) {
  Variable leaf(std::move(data), requires_grad);
  leaf.impl()->grad.dtype = leaf.dtype();
  leaf.impl()->grad.may_share = true;
  return leaf;
}

void differentiate_again(const Body& body, BackwardContext& context) {
  if (!context.grad_output(0).defined()) {
    return;
  }
  Variable input = stand_in(context.saved(0), context.needs(0));
  const std::uint64_t oldest = Node::last_sequence();
  Variable output;
  {
    const GradMode on(true);
    output = body(input);
  }
  if (!output.requires_grad()) {
    return;
  }
  backward_after(output, context.take_grad_output(0), oldest);
  if (context.needs(0)) {
    context.pass(0, std::exchange(input.impl()->grad.tensor, {}));
  }
}

Variable checkpoint_reentrant(const Body& body, const Variable& input) {
  ThreadState& state = thread_state();
  const bool seen_before = std::exchange(state.saw_gradient, false);
  Tensor output;
  {
    const GradMode off(false);
    output = body(input).data();
  }
  const bool wanted = state.saw_gradient || input.requires_grad();
  state.saw_gradient = state.saw_gradient || seen_before;
  if (!wanted) {
    return Variable(output);
  }
  return record_hidden("checkpoint", {input}, output, {input.data()},
                       [body](BackwardContext& context) { differentiate_again(body, context); });
}

Variable checkpoint_non_reentrant(const Body& body, const Variable& input) {
  ThreadState& state = thread_state();
  if (state.recording_frame || state.recomputing_frame != nullptr) {
    return body(input);  // the frame around this one drops and recomputes its tensors
  }
  const Scoped<std::shared_ptr<CheckpointFrame>> recording(
      state.recording_frame, std::make_shared<CheckpointFrame>(body, input));
  return body(input);
}

}  // namespace

Variable checkpoint(const std::function<Variable(const Variable&)>& body, const Variable& input,
                    Recompute mode) {
  if (!grad_enabled()) {
    return body(input);
  }
  return mode == Recompute::reentrant ? checkpoint_reentrant(body, input)
                                      : checkpoint_non_reentrant(body, input);
}

}  // namespace sherd::autograd
