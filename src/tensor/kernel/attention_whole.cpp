#include "tensor/kernel/attention_whole.hpp"

#include <algorithm>

#include "tensor/kernel/body/attention_whole.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/product.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

/// What products multiply.
template <class T>
using Operand = std::conditional_t<std::is_same_v<T, Float16>, float, T>;

/// Sizes of the heads that are computed together.
struct Heads {
  Heads(const AttentionShape& of, std::int64_t bytes_per_score, std::int64_t score_bytes)
      : shape(of),
        rows(of.heads / of.kv_heads * of.seq),
        all(of.batch * of.kv_heads),
        together(
            std::clamp<std::int64_t>(score_bytes / (rows * of.seq * bytes_per_score), 1, all)) {}
  AttentionShape shape;
  std::int64_t rows;      // of queries, for one key/value head
  std::int64_t all;       // key/value heads
  std::int64_t together;  // of them
};

/// A run of elements as operands: the tensor's own, or widened.
template <class T>
class Widened {
 public:
  using G = Operand<T>;
  Widened(std::int64_t numel, runtime::Device* device)
      : device_(device), copy_(std::is_same_v<T, G> ? 0 : numel, device) {}
  const G* of(const T* from, std::int64_t numel) const {
    if constexpr (std::is_same_v<T, G>) {
      return from;
    } else {
      launch_at(device_, "sherd::convert", Convert<T, G>{from, copy_.data()}, numel);
      return copy_.data();
    }
  }

 private:
  runtime::Device* device_;
  Scratch<G> copy_;
};

/// Products of `count` key/value heads: operands and results lie one after the other.
template <class G>
struct HeadProducts {
  runtime::Device* device;
  std::int64_t count;

  template <class C>
  void operator()(std::int64_t m, std::int64_t n, std::int64_t k, const G* a, bool trans_a,
                  const G* b, bool trans_b, C* c) const {
    multiply_at(device, {m, n, k, dtype_of<G>, dtype_of<C>, trans_a, trans_b, false}, a, b, c,
                {count, m * k, k * n, m * n});
  }
};

/// A result in T: written by the product, or narrowed behind it.
template <class T>
class Narrowed {
 public:
  using G = Operand<T>;
  Narrowed(std::int64_t numel, runtime::Device* device)
      : device_(device), wide_(std::is_same_v<T, G> ? 0 : numel, device) {}
  [[nodiscard]] G* into(T* to) const {
    if constexpr (std::is_same_v<T, G>) {
      return to;
    } else {
      static_cast<void>(to);
      return wide_.data();
    }
  }
  void finish(T* to, std::int64_t numel) const {
    if constexpr (!std::is_same_v<T, G>) {
      launch_at(device_, "sherd::convert", Convert<G, T>{wide_.data(), to}, numel);
    }
  }

 private:
  runtime::Device* device_;
  Scratch<G> wide_;
};

/// Where the softmax leaves an operand: over its f32 input for G = f32, in memory of its own else.
template <class G>
G* in_place_or(const Scratch<float>& wide, const Scratch<G>& own) {
  if constexpr (std::is_same_v<G, float>) {
    static_cast<void>(own);
    return wide.data();
  } else {
    static_cast<void>(wide);
    return own.data();
  }
}

template <class G>
constexpr std::int64_t kBytesPerScore = static_cast<std::int64_t>(std::is_same_v<G, float>
                                                                      ? sizeof(float)
                                                                      : sizeof(float) + sizeof(G));

}  // namespace

template <class T>
void attention_forward_whole(const AttentionForwardArguments<T>& a, runtime::Device* device,
                             std::int64_t score_bytes) {
  using G = Operand<T>;
  const Heads heads(a.shape, kBytesPerScore<G>, score_bytes);
  const std::int64_t seq = a.shape.seq;
  const std::int64_t dim = a.shape.head_dim;
  const std::int64_t most_rows = heads.together * heads.rows;
  const Widened<T> q(most_rows * dim, device);
  const Widened<T> k(heads.together * seq * dim, device);
  const Widened<T> v(heads.together * seq * dim, device);
  const Scratch<float> scores(most_rows * seq, device);
  const Scratch<G> narrow(std::is_same_v<G, float> ? 0 : most_rows * seq, device);
  const Scratch<float> result(most_rows * dim, device);
  G* probabilities = in_place_or(scores, narrow);
  for (std::int64_t kv = 0; kv < heads.all; kv += heads.together) {
    const std::int64_t count = std::min(heads.together, heads.all - kv);
    const std::int64_t first = kv * heads.rows;
    const std::int64_t rows = count * heads.rows;
    const std::int64_t keys = count * seq * dim;
    const HeadProducts<G> product{device, count};
    product(heads.rows, seq, dim, q.of(a.q + first * dim, rows * dim), false,
            k.of(a.k + kv * seq * dim, keys), true, scores.data());
    launch_at(device, "sherd::attention_softmax",
              CausalSoftmax<G>{scores.data(), probabilities, a.lse + first, seq, a.scale}, rows);
    product(heads.rows, dim, seq, probabilities, false, v.of(a.v + kv * seq * dim, keys), false,
            result.data());
    launch_at(device, "sherd::attention_unpack",
              UnpackHeads<T>{a.shape, first, result.data(), a.out}, rows * dim);
  }
}

template <class T>
void attention_backward_whole(const AttentionBackwardArguments<T>& a, runtime::Device* device,
                              std::int64_t score_bytes) {
  using G = Operand<T>;
  const AttentionShape& shape = a.in.shape;
  const Heads heads(shape, 2 * kBytesPerScore<G>, score_bytes);
  const std::int64_t seq = shape.seq;
  const std::int64_t dim = shape.head_dim;
  const std::int64_t most_rows = heads.together * heads.rows;
  const std::int64_t most_keys = heads.together * seq * dim;
  const Widened<T> q(most_rows * dim, device), k(most_keys, device), v(most_keys, device);
  const Narrowed<T> dq(most_rows * dim, device), dk(most_keys, device), dv(most_keys, device);
  const Scratch<G> dout(most_rows * dim, device);
  const Scratch<float> delta(most_rows, device);
  const Scratch<float> scores(most_rows * seq, device), dprobabilities(most_rows * seq, device);
  const std::int64_t narrow_numel = std::is_same_v<G, float> ? 0 : most_rows * seq;
  const Scratch<G> narrow(narrow_numel, device), narrow_gradient(narrow_numel, device);
  G* probabilities = in_place_or(scores, narrow);
  G* dscores = in_place_or(dprobabilities, narrow_gradient);
  for (std::int64_t kv = 0; kv < heads.all; kv += heads.together) {
    const std::int64_t count = std::min(heads.together, heads.all - kv);
    const std::int64_t first = kv * heads.rows;
    const std::int64_t rows = count * heads.rows;
    const std::int64_t key_at = kv * seq * dim;
    const std::int64_t keys = count * seq * dim;
    const G* queries = q.of(a.in.q + first * dim, rows * dim);
    const G* key = k.of(a.in.k + key_at, keys);
    const HeadProducts<G> product{device, count};
    launch_at(device, "sherd::attention_pack",
              PackHeads<T, G>{shape, first, a.in.dout, dout.data()}, rows * dim);
    launch_at(device, "sherd::attention_delta",
              HeadDots<T>{shape, first, a.in.dout, a.in.out, delta.data()}, rows);
    product(heads.rows, seq, dim, queries, false, key, true, scores.data());
    product(heads.rows, seq, dim, dout.data(), false, v.of(a.in.v + key_at, keys), true,
            dprobabilities.data());
    launch_at(device, "sherd::attention_softmax_gradient",
              CausalGradient<G>{scores.data(), dprobabilities.data(), probabilities, dscores,
                                a.in.lse + first, delta.data(), seq, a.in.scale},
              rows * seq);
    // The query heads of a key/value head are summed by the products, along their rows.
    product(seq, dim, heads.rows, probabilities, true, dout.data(), false, dv.into(a.dv + key_at));
    product(seq, dim, heads.rows, dscores, true, queries, false, dk.into(a.dk + key_at));
    product(heads.rows, dim, seq, dscores, false, key, false, dq.into(a.dq + first * dim));
    dv.finish(a.dv + key_at, keys);
    dk.finish(a.dk + key_at, keys);
    dq.finish(a.dq + first * dim, rows * dim);
  }
}

#define SHERD_ATTENTION_WHOLE(T)                                                                 \
  template void attention_forward_whole(const AttentionForwardArguments<T>&, runtime::Device*,   \
                                        std::int64_t);                                           \
  template void attention_backward_whole(const AttentionBackwardArguments<T>&, runtime::Device*, \
                                         std::int64_t)
SHERD_ATTENTION_WHOLE(float);
SHERD_ATTENTION_WHOLE(BFloat16);
SHERD_ATTENTION_WHOLE(Float16);

}  // namespace sherd::kernel
