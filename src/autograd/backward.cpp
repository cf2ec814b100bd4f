#include <algorithm>

#include "autograd/node.hpp"
#include "autograd/record_internal.hpp"
#include "autograd/thread_state.hpp"
#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"

namespace sherd::autograd {
namespace {

class NodeContext final : public BackwardContext {
 public:
  explicit NodeContext(Node& node) : node_(node) {}

  const Tensor& grad_output(std::size_t i) const override {
    static const Tensor none;
    const GradSlot& slot = node_.output(i);
    return slot.written ? slot.tensor : none;
  }
  Tensor take_grad_output(std::size_t i) override {
    GradSlot& slot = node_.output(i);
    Tensor gradient = slot.written ? std::move(slot.tensor) : Tensor();
    slot.clear();
    return gradient;
  }
  bool needs(std::size_t i) const override { return node_.edges().at(i).wanted(); }
  GradTarget target(std::size_t i) override { return node_.edges().at(i).slot().target(); }
  void pass(std::size_t i, Tensor gradient) override {
    if (needs(i)) {
      node_.edges().at(i).slot().pass(std::move(gradient));
    }
  }
  Tensor saved(std::size_t i) override { return node_.saved(i); }
  Tensor take_saved(std::size_t i) override { return node_.take_saved(i); }

 private:
  Node& node_;
};

/// Nodes to run, the last recorded first.
class Worklist {
 public:
  explicit Worklist(std::uint64_t oldest) : oldest_(oldest) {}

  void add(std::shared_ptr<Node> node) {
    expect(!node->walked(),
           "backward() came to an operation it has already gone back through (its saved tensors "
           "are freed). Try: add the losses up and call backward() once");
    expect(node->sequence() > oldest_,
           "a checkpointed body used a result recorded outside of it (re-entrant recomputation "
           "cannot differentiate that). Try: pass it as the input, or use_reentrant: false");
    if (node->claim()) {
      heap_.push_back(std::move(node));
      std::push_heap(heap_.begin(), heap_.end(), earlier);
    }
  }
  [[nodiscard]] std::shared_ptr<Node> take() {
    if (heap_.empty()) {
      return nullptr;
    }
    std::pop_heap(heap_.begin(), heap_.end(), earlier);
    std::shared_ptr<Node> node = std::move(heap_.back());
    heap_.pop_back();
    return node;
  }

 private:
  static bool earlier(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) {
    return a->sequence() < b->sequence();
  }

  std::uint64_t oldest_;
  std::vector<std::shared_ptr<Node>> heap_;
};

Tensor ones_like(const Tensor& like) {
  const Tensor one = Tensor::empty(like.shape(), DType::f64);
  const auto values = one.span<double>();
  std::fill(values.begin(), values.end(), 1.0);
  return to_dtype(one, like.dtype());
}

}  // namespace

void backward_after(const Variable& root, Tensor seed, std::uint64_t oldest) {
  expect(root.requires_grad(),
         "backward() from a result that depends on nothing that wants a gradient. Try: "
         "set_requires_grad(true) on a leaf before computing it");
  const Scoped<int> deeper(thread_state().backward_depth, thread_state().backward_depth + 1);
  const Edge start(root);
  start.slot().pass(seed.defined() ? std::move(seed) : ones_like(root.data()));
  if (start.leaf) {
    return;
  }
  Worklist worklist(oldest);
  worklist.add(start.node);
  while (const std::shared_ptr<Node> node = worklist.take()) {
    NodeContext context(*node);
    if (thread_state().interlude) {
      thread_state().interlude();
    }
    for (Edge& edge : node->run(context)) {
      if (edge.node) {
        worklist.add(std::move(edge.node));
      }
    }
  }
}

void backward(const Variable& root, Tensor seed) { backward_after(root, std::move(seed), 0); }

bool in_backward() noexcept { return thread_state().backward_depth > 0; }

bool recomputing() noexcept { return thread_state().recomputing_frame != nullptr; }

}  // namespace sherd::autograd
