#pragma once

#include "sherd/runtime/device.hpp"
#include "tensor/kernel/body/attention_rows.hpp"

// Attention on the host, and on the emulated device, by blocks of 64 queries (forward) or 64 keys
// (backward): the products of a block by oneDNN on dense tiles of one head, the softmax between
// them by our own loops. f32, bf16 and f16. One block of scores lives at a time, 64 by at most
// `seq`. For bf16 tensors `operands` says what the products multiply: bf16 (probabilities are
// rounded to it) or tiles widened to f32 once a head, as f16 tensors always are.

namespace sherd::kernel {

template <class T>
using AttentionForwardArguments = AttentionForwardRows<T>;

void attention_forward_blocked(const AttentionForwardArguments<float>& arguments,
                               runtime::Device* device);
void attention_forward_blocked(const AttentionForwardArguments<BFloat16>& arguments, DType operands,
                               runtime::Device* device);
void attention_forward_blocked(const AttentionForwardArguments<Float16>& arguments,
                               runtime::Device* device);

template <class T>
struct AttentionBackwardArguments {
  AttentionGradients<T> in;
  T* dq;
  T* dk;
  T* dv;
};

void attention_backward_blocked(const AttentionBackwardArguments<float>& arguments,
                                runtime::Device* device);
void attention_backward_blocked(const AttentionBackwardArguments<BFloat16>& arguments,
                                DType operands, runtime::Device* device);
void attention_backward_blocked(const AttentionBackwardArguments<Float16>& arguments,
                                runtime::Device* device);

}  // namespace sherd::kernel
