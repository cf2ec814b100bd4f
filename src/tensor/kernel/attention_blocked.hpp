#pragma once

#include "tensor/kernel/body/attention_rows.hpp"

// Attention by blocks of 128 queries (forward) or 128 keys (backward): the products of a block by
// oneDNN on dense tiles of one head, the softmax between them by our own loops. f32 and bf16. One
// block of scores lives at a time, 128 by at most `seq`.

namespace sherd::kernel {

template <class T>
struct AttentionForwardArguments {
  AttentionShape shape;
  float scale;
  const T* q;
  const T* k;
  const T* v;
  T* out;
  float* lse;
};

void attention_forward_blocked(const AttentionForwardArguments<float>& arguments);
void attention_forward_blocked(const AttentionForwardArguments<BFloat16>& arguments);

template <class T>
struct AttentionBackwardArguments {
  AttentionGradients<T> in;
  T* dq;
  T* dk;
  T* dv;
};

void attention_backward_blocked(const AttentionBackwardArguments<float>& arguments);
void attention_backward_blocked(const AttentionBackwardArguments<BFloat16>& arguments);

}  // namespace sherd::kernel
