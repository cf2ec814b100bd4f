// Attention of one layer: batch 4, 8 heads of 64, 256 positions. The flop rate counts the causal
// half.

#include "kernels/filled.hpp"
#include "sherd/tensor/kernel/attention.hpp"

namespace sherd::bench {
namespace {

struct Problem {
  Problem(DType dtype, std::int64_t seq)
      : batch(1024 / seq),
        q(filled(Shape{batch, 8, seq, 64}, dtype)),
        k(q.clone()),
        v(q.clone()),
        out(Tensor::empty(Shape{1024, 512}, dtype)),
        dout(filled(Shape{1024, 512}, dtype)),
        lse(Tensor::empty(Shape{batch, 8, seq}, DType::f32)) {}
  [[nodiscard]] double flops(double products) const {
    const auto s = static_cast<double>(q.size(2));
    return products * 2.0 * static_cast<double>(batch * 8) * 64.0 * s * s / 2;
  }
  std::int64_t batch;
  Tensor q, k, v, out, dout, lse;
};

void attention_forward(benchmark::State& state) {
  const Problem p(dtype_argument(state), state.range(1));
  for (auto _ : state) {
    kernel::attention_forward(p.q, p.k, p.v, p.out, p.lse);
  }
  count_flops(state, p.flops(2));
}

void attention_backward(benchmark::State& state) {
  const Problem p(dtype_argument(state), state.range(1));
  kernel::attention_forward(p.q, p.k, p.v, p.out, p.lse);
  const Tensor dq = p.q.clone(), dk = p.q.clone(), dv = p.q.clone();
  for (auto _ : state) {
    kernel::attention_backward(p.q, p.k, p.v, p.out, p.lse, p.dout, dq, dk, dv);
  }
  count_flops(state, p.flops(5));
}

void lengths(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bf16", "seq"})->ArgsProduct({{0, 1}, {256, 1024}});
}
BENCHMARK(attention_forward)->Apply(lengths);
BENCHMARK(attention_backward)->Apply(lengths);

}  // namespace
}  // namespace sherd::bench
