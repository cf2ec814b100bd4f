#include "autograd/node.hpp"

#include <atomic>

#include "autograd/checkpoint_frame.hpp"
#include "autograd/thread_state.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

std::atomic<std::uint64_t> recorded_nodes{0};

SavedTensor keep(Tensor tensor, std::span<const Variable> inputs) {
  SavedTensor saved;
  if (auto leaf = leaf_behind(tensor, inputs)) {
    saved.leaf = std::move(leaf);
    saved.leaf_view = tensor.shape();
  } else if (const auto& frame = thread_state().recording_frame) {
    saved.slot = frame->expect_one_more();
    saved.frame = frame;
  } else {
    saved.tensor = std::move(tensor);
  }
  return saved;
}

}  // namespace

Edge::Edge(const Variable& input) {
  if (!input.requires_grad()) {
    return;
  }
  if (input.is_leaf()) {
    leaf = input.impl();
  } else {
    node = input.impl()->node;
    output = input.impl()->output;
  }
}

GradSlot& Edge::slot() const {
  expect(wanted(), "this input wants no gradient. Try: ask needs() first");
  return leaf ? leaf->grad : node->output(output);
}

Tensor SavedTensor::get() const {
  if (frame) {
    return frame->get(slot);
  }
  if (!leaf) {
    return tensor;
  }
  expect(!leaf->data.is_meta(),
         "backward needs a parameter whose memory was given back. Try: gather it before");
  return leaf->data.reshape(leaf_view);
}

Tensor SavedTensor::take() {
  Tensor result = get();
  tensor = Tensor();
  if (frame) {
    frame->drop(slot);
  }
  return result;
}

std::shared_ptr<VariableImpl> leaf_behind(const Tensor& tensor, std::span<const Variable> inputs) {
  if (!tensor.defined() || tensor.is_meta() || tensor.numel() == 0) {
    return nullptr;
  }
  for (const Variable& input : inputs) {
    if (input.is_leaf() && input.data().raw() == tensor.raw() &&
        input.data().numel() == tensor.numel() && input.dtype() == tensor.dtype()) {
      return input.impl();
    }
  }
  return nullptr;
}

Node::Node(std::string_view name, std::span<const Variable> inputs, std::span<const Tensor> outputs,
           std::vector<Tensor> saved, BackwardFunction backward)
    : name_(name), sequence_(++recorded_nodes), backward_(std::move(backward)) {
  edges_.reserve(inputs.size());
  for (const Variable& input : inputs) {
    edges_.emplace_back(input);
  }
  outputs_.reserve(outputs.size());
  for (const Tensor& output : outputs) {
    outputs_.emplace_back(output.shape(), output.dtype(), output.where());
  }
  saved_.reserve(saved.size());
  for (Tensor& tensor : saved) {
    saved_.push_back(keep(std::move(tensor), inputs));
  }
}

std::uint64_t Node::last_sequence() noexcept { return recorded_nodes; }

/// Takes a chain of nodes down one by one: the default would recurse as deep as the graph is long.
Node::~Node() {
  std::vector<std::shared_ptr<Node>> doomed;
  auto collect = [&doomed](std::vector<Edge>& edges) {
    for (Edge& edge : edges) {
      if (edge.node && edge.node.use_count() == 1) {
        doomed.push_back(std::move(edge.node));
      }
    }
  };
  collect(edges_);
  while (!doomed.empty()) {
    const std::shared_ptr<Node> node = std::move(doomed.back());
    doomed.pop_back();
    collect(node->edges_);
  }
}

std::vector<Edge> Node::run(BackwardContext& context) {
  walked_ = true;
  backward_(context);
  backward_ = nullptr;
  for (const SavedTensor& saved : saved_) {
    if (saved.frame) {
      saved.frame->drop(saved.slot);
    }
  }
  saved_.clear();
  for (GradSlot& output : outputs_) {
    output.clear();
  }
  return std::exchange(edges_, {});
}

}  // namespace sherd::autograd
