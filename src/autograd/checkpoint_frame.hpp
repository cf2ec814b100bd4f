#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sherd/autograd/variable.hpp"

namespace sherd::autograd {

/// One checkpointed body whose saved tensors were dropped: counts them while it is recorded, and
/// runs it again, as far as the last of them, when the first one is asked for.
class CheckpointFrame {
 public:
  using Body = std::function<Variable(const Variable&)>;
  CheckpointFrame(Body body, Variable input);

  /// Recording: another tensor was saved and dropped. Returns its slot.
  std::size_t expect_one_more() noexcept { return expected_++; }
  /// Backward: the tensor of `slot`, recomputed if need be.
  [[nodiscard]] Tensor get(std::size_t slot);
  /// Backward: nobody wants `slot` any more.
  void drop(std::size_t slot) noexcept;

  /// Recomputing: an operation saves these. Ends the recomputation when it has all.
  void capture(std::span<const Variable> inputs, std::span<const Tensor> saved);
  /// Recomputing: as capture() if these are the last ones wanted, else nothing.
  void capture_if_last(std::span<const Variable> inputs, std::span<const Tensor> saved);

 private:
  void recompute();

  Body body_;
  Variable input_;
  std::size_t expected_ = 0;
  bool recomputed_ = false;
  std::vector<Tensor> recovered_;
};

}  // namespace sherd::autograd
