#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable_impl.hpp"
#include "sherd/autograd/function.hpp"

namespace sherd::autograd {

class CheckpointFrame;

/// Where input i's gradient goes: to a leaf, to an output of another node, or nowhere. Holds no
/// activation: what is between two operations lives only as long as somebody saved it.
struct Edge {
  std::shared_ptr<VariableImpl> leaf;
  std::shared_ptr<Node> node;
  std::size_t output = 0;

  explicit Edge(const Variable& input);
  [[nodiscard]] bool wanted() const noexcept { return leaf || node; }
  [[nodiscard]] GradSlot& slot() const;
};

/// A tensor that backward needs: kept; or a leaf's data, read when needed (the leaf may have been
/// pointed elsewhere meanwhile); or dropped by activation checkpointing and recomputed.
struct SavedTensor {
  Tensor tensor;
  std::shared_ptr<VariableImpl> leaf;
  Shape leaf_view;
  std::shared_ptr<CheckpointFrame> frame;
  std::size_t slot = 0;

  [[nodiscard]] Tensor get() const;
  /// get(), and lets go of it.
  [[nodiscard]] Tensor take();
};

/// The leaf among `inputs` whose data `tensor` is (under whatever shape), or null.
[[nodiscard]] std::shared_ptr<VariableImpl> leaf_behind(const Tensor& tensor,
                                                        std::span<const Variable> inputs);

/// One recorded operation.
class Node {
 public:
  Node(std::string_view name, std::span<const Variable> inputs, std::span<const Tensor> outputs,
       std::vector<Tensor> saved, BackwardFunction backward);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Place in the order of recording, over all threads.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  /// The place of the node recorded last.
  [[nodiscard]] static std::uint64_t last_sequence() noexcept;
  [[nodiscard]] const std::vector<Edge>& edges() const noexcept { return edges_; }
  [[nodiscard]] GradSlot& output(std::size_t i) { return outputs_.at(i); }
  [[nodiscard]] Tensor saved(std::size_t i) const { return saved_.at(i).get(); }
  [[nodiscard]] Tensor take_saved(std::size_t i) { return saved_.at(i).take(); }
  [[nodiscard]] bool walked() const noexcept { return walked_; }
  /// True the first time: whether backward() must still put the node on its list.
  [[nodiscard]] bool claim() noexcept { return !std::exchange(claimed_, true); }

  /// Calls the backward function, then lets go of everything it needed. The edges come back.
  [[nodiscard]] std::vector<Edge> run(BackwardContext& context);

 private:
  std::string name_;
  std::uint64_t sequence_;
  std::vector<Edge> edges_;
  std::vector<GradSlot> outputs_;
  std::vector<SavedTensor> saved_;
  BackwardFunction backward_;
  bool claimed_ = false;
  bool walked_ = false;
};

}  // namespace sherd::autograd
