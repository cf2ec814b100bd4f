#pragma once

#include <algorithm>
#include <deque>

#include "sherd/runtime/counting_device.hpp"
#include "sherd/runtime/team.hpp"
#include "tensor/kernel/body/attention_softmax.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/product.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {

/// Rows of queries (forward) or keys (backward) that a block of scores has.
inline constexpr std::int64_t kAttentionBlock = 64;

/// The [seq, head_dim] tile of one head as a product operand of type G: the tensor's own memory
/// where the types agree, a converted copy otherwise.
template <class T, class G>
class HeadTile {
 public:
  HeadTile(std::int64_t numel, runtime::Device* device)
      : device_(device), copy_(std::is_same_v<T, G> ? 0 : numel, device), numel_(numel) {}

  const G* of(const T* head) {
    if constexpr (std::is_same_v<T, G>) {
      return head;
    } else {
      launch_at(device_, "sherd::convert", Convert<T, G>{head, copy_.data()}, numel_);
      return copy_.data();
    }
  }

 private:
  runtime::Device* device_;
  Scratch<G> copy_;
  std::int64_t numel_;
};

/// Runs of heads, each by a `Work` with memory of its own, on the threads of the team. A counting
/// device counts the memory of all that would be at work at once.
template <class Work, class Arguments>
void over_heads(const Arguments& arguments, runtime::Device* device, std::int64_t heads) {
  if (heads == 0) {
    return;
  }
  if (device != nullptr) {
    const runtime::CountingOptions* counting = device->counting();
    const std::int64_t at_once = counting != nullptr ? counting->threads : 1;
    std::deque<Work> works;
    for (std::int64_t i = 0; i < std::min(heads, at_once); ++i) {
      works.emplace_back(arguments, device);
    }
    return works.front().run(0, heads);
  }
  constexpr std::int64_t kRunsPerThread = 4;
  const std::int64_t threads = runtime::team_threads();
  const std::int64_t runs = threads == 1 ? 1 : std::min(heads, threads * kRunsPerThread);
  runtime::for_blocks(runs, [&](std::int64_t run) {
    Work(arguments, nullptr).run(heads * run / runs, heads * (run + 1) / runs);
  });
}

/// c[m, n] (+)= op(a) op(b) on dense tiles, in f32.
template <class G>
void tile_product(runtime::Device* device, std::int64_t m, std::int64_t n, std::int64_t k,
                  const G* a, bool trans_a, const G* b, bool trans_b, float* c,
                  bool accumulate = false) {
  multiply_at(device, {m, n, k, dtype_of<G>, DType::f32, trans_a, trans_b, accumulate}, a, b, c);
}

}  // namespace sherd::kernel
