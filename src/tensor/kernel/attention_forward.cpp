#include "tensor/kernel/attention_blocked.hpp"
#include "tensor/kernel/attention_tiles.hpp"

namespace sherd::kernel {
namespace {

/// T: element type in memory; G: operand type of the products.
template <class T, class G>
class Forward {
 public:
  Forward(const AttentionForwardArguments<T>& arguments, runtime::Device* device)
      : device_(device),
        a_(arguments),
        tile_(a_.shape.seq * a_.shape.head_dim),
        block_(std::min(kAttentionBlock, a_.shape.seq)),
        q_(tile_, device),
        k_(tile_, device),
        v_(tile_, device),
        scores_(block_ * a_.shape.seq, device),
        probabilities_(std::is_same_v<G, float> ? 0 : block_ * a_.shape.seq, device),
        rows_(block_ * a_.shape.head_dim, device),
        inv_sum_(block_, device) {}

  /// Query heads first .. last-1 of all.
  void run(std::int64_t first_head, std::int64_t last_head) {
    const std::int64_t group = a_.shape.heads / a_.shape.kv_heads;
    for (std::int64_t bh = first_head; bh < last_head; ++bh) {
      if (bh % group == 0 || bh == first_head) {
        const std::int64_t kv = a_.shape.kv_of(bh);
        keys_ = k_.of(a_.k + kv * tile_);
        values_ = v_.of(a_.v + kv * tile_);
      }
      queries_ = q_.of(a_.q + bh * tile_);
      for (std::int64_t first = 0; first < a_.shape.seq; first += block_) {
        block(bh, first, std::min(block_, a_.shape.seq - first));
      }
    }
  }

 private:
  void block(std::int64_t bh, std::int64_t first, std::int64_t rows) {
    const std::int64_t dim = a_.shape.head_dim;
    const std::int64_t width = first + rows;
    tile_product(device_, rows, width, dim, queries_ + first * dim, false, keys_, true,
                 scores_.data());
    launch_at(device_, "sherd::attention_forward",
              SoftmaxRows<G>{scores_.data(), probabilities(), inv_sum_.data(),
                             a_.lse + bh * a_.shape.seq + first, width, first + 1, a_.scale},
              rows);
    tile_product<G>(device_, rows, dim, width, probabilities(), false, values_, false,
                    rows_.data());
    launch_at(
        device_, "sherd::attention_forward",
        ScatterScaledRows<T>{rows_.data(), inv_sum_.data(), a_.out + a_.shape.unpacked(bh, first),
                             a_.shape.heads * dim, dim},
        rows);
  }
  [[nodiscard]] G* probabilities() const {
    if constexpr (std::is_same_v<G, float>) {
      return scores_.data();
    } else {
      return probabilities_.data();
    }
  }

  runtime::Device* device_;
  AttentionForwardArguments<T> a_;
  std::int64_t tile_;
  std::int64_t block_;
  HeadTile<T, G> q_, k_, v_;
  Scratch<float> scores_;
  Scratch<G> probabilities_;
  Scratch<float> rows_, inv_sum_;
  const G* queries_ = nullptr;
  const G* keys_ = nullptr;
  const G* values_ = nullptr;
};

template <class T, class G>
void run_forward(const AttentionForwardArguments<T>& arguments, runtime::Device* device) {
  over_heads<Forward<T, G>>(arguments, device, arguments.shape.batch * arguments.shape.heads);
}

}  // namespace

void attention_forward_blocked(const AttentionForwardArguments<float>& arguments,
                               runtime::Device* device) {
  run_forward<float, float>(arguments, device);
}

void attention_forward_blocked(const AttentionForwardArguments<BFloat16>& arguments, DType operands,
                               runtime::Device* device) {
  if (operands == DType::bf16) {
    run_forward<BFloat16, BFloat16>(arguments, device);
  } else {
    run_forward<BFloat16, float>(arguments, device);
  }
}

void attention_forward_blocked(const AttentionForwardArguments<Float16>& arguments,
                               runtime::Device* device) {
  run_forward<Float16, float>(arguments, device);
}

}  // namespace sherd::kernel
