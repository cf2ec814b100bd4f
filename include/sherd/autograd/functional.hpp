#pragma once

#include <span>
#include <vector>

#include "sherd/autograd/variable.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "sherd/tensor/kernel/rope.hpp"

/// Differentiable operations. Local and blocking. Matrix operations flatten all dimensions but the
/// last into rows and give the result the input's leading dimensions back. Zero rows are legal.
namespace sherd::autograd {

/// y = x W^T (+ bias); x [..., in], weight [out, in], bias [out] or undefined.
[[nodiscard]] Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {});
/// Several linear maps of one input, whose input gradients are summed in place.
[[nodiscard]] std::vector<Variable> linear_multi(const Variable& x,
                                                 std::span<const Variable> weights);
[[nodiscard]] Variable rms_norm(const Variable& x, const Variable& weight, double eps);
[[nodiscard]] Variable add(const Variable& a, const Variable& b);
[[nodiscard]] Variable swiglu(const Variable& gate, const Variable& up);
[[nodiscard]] Variable activation(kernel::Activation kind, const Variable& x);
/// ids i32 [...] -> [..., dim]
[[nodiscard]] Variable embedding(const Variable& table, const Tensor& ids);
/// x [B, S, heads*head_dim] -> [B, heads, S, head_dim], rotated unless tables is null. `tables`
/// must outlive backward.
[[nodiscard]] Variable rope(const Variable& x, std::int64_t head_dim,
                            const kernel::RopeTables* tables);
/// Causal attention of packed q, k, v -> [B, S, heads*head_dim].
[[nodiscard]] Variable attention(const Variable& q, const Variable& k, const Variable& v);
/// weight * sum over rows of -log softmax(logits)[target]; logits [..., classes], targets i32 with
/// one entry a row. Rank-0 f64 result (so that sums over ranks lose nothing).
[[nodiscard]] Variable cross_entropy(const Variable& logits, const Tensor& targets, double weight);
/// weight * sum of (x - target)^2. Rank-0 f64 result.
[[nodiscard]] Variable squared_error(const Variable& x, const Tensor& target, double weight);
/// Converts to another floating dtype (backward converts back).
[[nodiscard]] Variable cast(const Variable& x, DType dtype);
[[nodiscard]] Variable reshape(const Variable& x, Shape shape);

}  // namespace sherd::autograd
