#pragma once

#include "sherd/tensor/kernel/path.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::kernel {

/// Causal scaled-dot-product attention with grouped key/value heads (query head h reads kv head
/// h / (heads/kv_heads)); scale 1/sqrt(head_dim). q [batch, heads, seq, head_dim]; k, v
/// [batch, kv_heads, seq, head_dim]; out [batch*seq, heads*head_dim] (unpacked, ready for the
/// output projection); lse [batch, heads, seq], f32 (f64 for f64): log of the softmax denominator
/// plus row maximum. Never holds more than one block of scores.
void attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                       const Tensor& lse, Path path = Path::automatic);

/// Overwrites dq, dk, dv (packed as q, k, v). dout and out are unpacked [batch*seq,
/// heads*head_dim]. Scores are recomputed from q, k and lse.
void attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        const Tensor& lse, const Tensor& dout, const Tensor& dq, const Tensor& dk,
                        const Tensor& dv, Path path = Path::automatic);

}  // namespace sherd::kernel
