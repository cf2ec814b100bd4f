#pragma once

#include "tensor/kernel/attention_blocked.hpp"

// Attention on a GPU: whole sequences of several key/value heads at once, each with all of its
// query heads, whose rows lie one after the other: products in batches, and the softmax between
// them over all rows. As many heads as kScoreBytes of scores allow, at least one. f32, bf16 and f16
// (whose tiles are widened).

namespace sherd::kernel {

inline constexpr std::int64_t kScoreBytes = std::int64_t{256} << 20;

template <class T>
void attention_forward_whole(const AttentionForwardArguments<T>& arguments, runtime::Device* device,
                             std::int64_t score_bytes = kScoreBytes);
template <class T>
void attention_backward_whole(const AttentionBackwardArguments<T>& arguments,
                              runtime::Device* device, std::int64_t score_bytes = kScoreBytes);

}  // namespace sherd::kernel
