// The products of a Llama step of 25.6M parameters: dim 512, ffn 1376, vocab 256, 1024 tokens.

#include "kernels/filled.hpp"
#include "sherd/tensor/kernel/matmul.hpp"

namespace sherd::bench {
namespace {

using kernel::Transpose;
using kernel::Write;

constexpr std::int64_t kTokens = 1024;

/// y[tokens, out] = x[tokens, in] W[out, in]^T
void forward(benchmark::State& state) {
  const DType dtype = dtype_argument(state);
  const std::int64_t in = state.range(1), out = state.range(2);
  const Tensor x = filled(Shape{kTokens, in}, dtype), w = filled(Shape{out, in}, dtype);
  const Tensor y = Tensor::empty(Shape{kTokens, out}, dtype);
  for (auto _ : state) {
    kernel::matmul(x, Transpose::no, w, Transpose::yes, y);
  }
  count_flops(state, 2.0 * static_cast<double>(kTokens * in * out));
}

/// dx[tokens, in] = dy[tokens, out] W[out, in]
void input_gradient(benchmark::State& state) {
  const DType dtype = dtype_argument(state);
  const std::int64_t in = state.range(1), out = state.range(2);
  const Tensor dy = filled(Shape{kTokens, out}, dtype), w = filled(Shape{out, in}, dtype);
  const Tensor dx = Tensor::empty(Shape{kTokens, in}, dtype);
  for (auto _ : state) {
    kernel::matmul(dy, Transpose::no, w, Transpose::no, dx);
  }
  count_flops(state, 2.0 * static_cast<double>(kTokens * in * out));
}

/// dW[out, in] += dy[tokens, out]^T x[tokens, in], in f32
void weight_gradient(benchmark::State& state) {
  const DType dtype = dtype_argument(state);
  const std::int64_t in = state.range(1), out = state.range(2);
  const Tensor dy = filled(Shape{kTokens, out}, dtype), x = filled(Shape{kTokens, in}, dtype);
  const Tensor dw = Tensor::zeros(Shape{out, in}, DType::f32);
  for (auto _ : state) {
    kernel::matmul(dy, Transpose::yes, x, Transpose::no, dw, Write::accumulate);
  }
  count_flops(state, 2.0 * static_cast<double>(kTokens * in * out));
}

/// The blocks of attention: Q K^T and P V of one head.
void scores(benchmark::State& state) {
  const DType dtype = dtype_argument(state);
  const Tensor q = filled(Shape{128, 64}, dtype), k = filled(Shape{256, 64}, dtype);
  const Tensor s = Tensor::empty(Shape{128, 256}, DType::f32);
  for (auto _ : state) {
    kernel::matmul(q, Transpose::no, k, Transpose::yes, s);
  }
  count_flops(state, 2.0 * 128 * 256 * 64);
}
void values(benchmark::State& state) {
  const DType dtype = dtype_argument(state);
  const Tensor p = filled(Shape{128, 256}, dtype), v = filled(Shape{256, 64}, dtype);
  const Tensor o = Tensor::empty(Shape{128, 64}, DType::f32);
  for (auto _ : state) {
    kernel::matmul(p, Transpose::no, v, Transpose::no, o);
  }
  count_flops(state, 2.0 * 128 * 256 * 64);
}

void model_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bf16", "in", "out"});
  for (const std::int64_t bf16 : {0, 1}) {
    bench->Args({bf16, 512, 512})->Args({bf16, 512, 1376})->Args({bf16, 1376, 512});
    bench->Args({bf16, 512, 256});
  }
}

BENCHMARK(forward)->Apply(model_shapes);
BENCHMARK(input_gradient)->Apply(model_shapes);
BENCHMARK(weight_gradient)->Apply(model_shapes);
BENCHMARK(scores)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(values)->ArgName("bf16")->Arg(0)->Arg(1);

}  // namespace
}  // namespace sherd::bench
