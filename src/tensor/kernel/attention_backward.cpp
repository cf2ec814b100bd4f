#include "tensor/kernel/attention_blocked.hpp"
#include "tensor/kernel/attention_tiles.hpp"

namespace sherd::kernel {
namespace {

/// T: element type in memory; G: operand type of the products.
template <class T, class G>
class Backward {
 public:
  Backward(const AttentionBackwardArguments<T>& arguments, runtime::Device* device)
      : device_(device),
        a_(arguments),
        shape_(arguments.in.shape),
        tile_(shape_.seq * shape_.head_dim),
        block_(std::min(kAttentionBlock, shape_.seq)),
        q_(tile_, device),
        k_(tile_, device),
        v_(tile_, device),
        dout_(tile_, device),
        delta_(shape_.seq, device),
        scores_(block_ * shape_.seq, device),
        dprobabilities_(block_ * shape_.seq, device),
        narrow_(std::is_same_v<G, float> ? 0 : 2 * block_ * shape_.seq, device),
        dq_(tile_, device),
        dk_(tile_, device),
        dv_(tile_, device) {}

  /// The query heads of key/value heads first .. last-1 of all.
  void run(std::int64_t first_kv, std::int64_t last_kv) {
    const std::int64_t group = shape_.heads / shape_.kv_heads;
    for (std::int64_t bh = first_kv * group; bh < last_kv * group; ++bh) {
      const std::int64_t kv = shape_.kv_of(bh);
      if (bh % group == 0) {
        keys_ = k_.of(a_.in.k + kv * tile_);
        values_ = v_.of(a_.in.v + kv * tile_);
      }
      head(bh, bh % group != 0);
      put(dq_.data(), a_.dq + bh * tile_);
      if (bh % group == group - 1) {
        put(dk_.data(), a_.dk + kv * tile_);
        put(dv_.data(), a_.dv + kv * tile_);
      }
    }
  }

 private:
  void put(const float* tile, T* to) const {
    launch_at(device_, "sherd::attention_backward", Convert<float, T>{tile, to}, tile_);
  }

  void head(std::int64_t bh, bool add_to_key_value) {
    const std::int64_t stride = shape_.heads * shape_.head_dim;
    const T* dout = a_.in.dout + shape_.unpacked(bh, 0);
    const T* out = a_.in.out + shape_.unpacked(bh, 0);
    queries_ = q_.of(a_.in.q + bh * tile_);
    launch_at(device_, "sherd::attention_backward",
              GatherRows<T, G>{dout, dout_.data(), stride, shape_.head_dim}, shape_.seq);
    launch_at(device_, "sherd::attention_backward",
              DotRows<T>{dout, out, delta_.data(), stride, shape_.head_dim}, shape_.seq);
    for (std::int64_t first = 0; first < shape_.seq; first += block_) {
      block(bh, first, std::min(block_, shape_.seq - first), add_to_key_value);
    }
  }

  /// Keys first .. first+rows-1 against every query that sees one of them.
  void block(std::int64_t bh, std::int64_t first, std::int64_t rows, bool add_to_key_value) {
    const std::int64_t dim = shape_.head_dim;
    const std::int64_t width = shape_.seq - first;
    const std::int64_t at = first * dim;
    const G* queries = queries_ + at;
    const G* dout = dout_.data() + at;
    tile_product(device_, rows, width, dim, keys_ + at, false, queries, true, scores_.data());
    tile_product<G>(device_, rows, width, dim, values_ + at, false, dout, true,
                    dprobabilities_.data());
    G* probabilities = scores_as_operand(rows * width, scores_, 0);
    G* dscores = scores_as_operand(rows * width, dprobabilities_, 1);
    launch_at(device_, "sherd::attention_backward",
              SoftmaxGradientRows<G>{scores_.data(), dprobabilities_.data(), probabilities, dscores,
                                     a_.in.lse + bh * shape_.seq + first, delta_.data() + first,
                                     width, a_.in.scale},
              rows);
    tile_product<G>(device_, rows, dim, width, probabilities, false, dout, false, dv_.data() + at,
                    add_to_key_value);
    tile_product<G>(device_, rows, dim, width, dscores, false, queries, false, dk_.data() + at,
                    add_to_key_value);
    tile_product<G>(device_, width, dim, rows, dscores, true, keys_ + at, false, dq_.data() + at,
                    first > 0);
  }

  /// Where the softmax leaves its result: over its input for f32, in memory of its own otherwise.
  [[nodiscard]] G* scores_as_operand(std::int64_t numel, const Scratch<float>& in_place,
                                     std::int64_t index) const {
    if constexpr (std::is_same_v<G, float>) {
      static_cast<void>(numel);
      static_cast<void>(index);
      return in_place.data();
    } else {
      static_cast<void>(in_place);
      return narrow_.data() + index * numel;
    }
  }

  runtime::Device* device_;
  AttentionBackwardArguments<T> a_;
  AttentionShape shape_;
  std::int64_t tile_;
  std::int64_t block_;
  HeadTile<T, G> q_, k_, v_;
  Scratch<G> dout_;
  Scratch<float> delta_, scores_, dprobabilities_;
  Scratch<G> narrow_;
  Scratch<float> dq_, dk_, dv_;
  const G* queries_ = nullptr;
  const G* keys_ = nullptr;
  const G* values_ = nullptr;
};

template <class T, class G>
void run_backward(const AttentionBackwardArguments<T>& arguments, runtime::Device* device) {
  const AttentionShape& shape = arguments.in.shape;
  over_heads<Backward<T, G>>(arguments, device, shape.batch * shape.kv_heads);
}

}  // namespace

void attention_backward_blocked(const AttentionBackwardArguments<float>& arguments,
                                runtime::Device* device) {
  run_backward<float, float>(arguments, device);
}

void attention_backward_blocked(const AttentionBackwardArguments<BFloat16>& arguments,
                                DType operands, runtime::Device* device) {
  if (operands == DType::bf16) {
    run_backward<BFloat16, BFloat16>(arguments, device);
  } else {
    run_backward<BFloat16, float>(arguments, device);
  }
}

void attention_backward_blocked(const AttentionBackwardArguments<Float16>& arguments,
                                runtime::Device* device) {
  run_backward<Float16, float>(arguments, device);
}

}  // namespace sherd::kernel
