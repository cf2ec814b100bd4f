#pragma once

#include "sherd/tensor/kernel/matmul.hpp"
#include "sherd/tensor/kernel/path.hpp"

namespace sherd::kernel {

// Beside tensors on a device, ids and targets may be in host memory: they are checked there and
// copied. Those on the device are not checked: one that is out of range makes NaN.

/// out[i, :] = table[ids[i], :]; ids i32. Throws ArgumentError on an id outside the table.
void embedding_forward(const Tensor& table, const Tensor& ids, const Tensor& out);
/// dtable[ids[i], :] += dout[i, :], in the order of i; overwrite zeroes dtable first. dtable f32
/// (f64).
void embedding_backward(const Tensor& ids, const Tensor& dout, const Tensor& dtable, Write write);

/// Cross-entropy of logits [rows, classes] against targets [rows] (i32; a negative target is left
/// out). Returns the *sum* of the losses, in f64; waits for the device where it is on one. Never
/// stores the softmax: keeps lse [rows], f32 (f64 for f64).
double cross_entropy_forward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                             Path path = Path::automatic);
/// The same, but the losses of the rows, [rows] in f64, where the logits are: waits for nothing.
[[nodiscard]] Tensor cross_entropy_losses(const Tensor& logits, const Tensor& targets,
                                          const Tensor& lse, Path path = Path::automatic);
/// dlogits = scale * (softmax - onehot); may alias logits.
void cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                            double scale, const Tensor& dlogits, Path path = Path::automatic);

}  // namespace sherd::kernel
