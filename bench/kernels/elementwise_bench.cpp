// The kernels between the products, at 1024 tokens; bytes are what each must read and write once.
// copy is memcpy of 16 MiB, for ratios.

#include <cstring>
#include <vector>

#include "kernels/filled.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "sherd/tensor/kernel/embedding.hpp"
#include "sherd/tensor/kernel/norm.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/kernel/rope.hpp"

namespace sherd::bench {
namespace {

using kernel::Write;

void copy(benchmark::State& state) {
  const Tensor from = filled(Shape{4 << 20}, DType::f32), to = from.clone();
  for (auto _ : state) {
    std::memcpy(to.raw(), from.raw(), from.nbytes());
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2 * from.nbytes());
}

void rms_norm_forward(benchmark::State& state) {
  const Tensor x = filled(Shape{1024, 512}, dtype_argument(state)), y = x.clone();
  const Tensor w = filled(Shape{512}, x.dtype()), inv = Tensor::empty(Shape{1024}, DType::f32);
  for (auto _ : state) {
    kernel::rms_norm_forward(x, w, 1e-5, y, inv);
  }
  count_bytes(state, 2 * x.nbytes());
}

void rms_norm_backward(benchmark::State& state) {
  const Tensor x = filled(Shape{1024, 512}, dtype_argument(state)), dx = x.clone(), dy = x.clone();
  const Tensor w = filled(Shape{512}, x.dtype()), inv = Tensor::zeros(Shape{1024}, DType::f32);
  const Tensor dw = Tensor::zeros(Shape{512}, DType::f32);
  for (auto _ : state) {
    kernel::rms_norm_backward(x, w, inv, dy, dx, Write::accumulate, dw, Write::accumulate);
  }
  count_bytes(state, 4 * x.nbytes());
}

void rope_pack(benchmark::State& state) {
  const Tensor x = filled(Shape{1024, 512}, dtype_argument(state));
  const Tensor y = Tensor::empty(Shape{4, 8, 256, 64}, x.dtype());
  const kernel::RopeTables tables = kernel::make_rope_tables(256, 64, 10000);
  for (auto _ : state) {
    kernel::rope_pack(x, &tables, y);
  }
  count_bytes(state, 2 * x.nbytes());
}

void swiglu_forward(benchmark::State& state) {
  const Tensor gate = filled(Shape{1024, 1376}, dtype_argument(state)), up = gate.clone();
  const Tensor y = gate.clone();
  for (auto _ : state) {
    kernel::swiglu_forward(gate, up, y);
  }
  count_bytes(state, 3 * y.nbytes());
}

void swiglu_backward(benchmark::State& state) {
  const Tensor gate = filled(Shape{1024, 1376}, dtype_argument(state)), up = gate.clone();
  const Tensor dy = gate.clone(), dgate = gate.clone(), dup = gate.clone();
  for (auto _ : state) {
    kernel::swiglu_backward(gate, up, dy, dgate, dup);
  }
  count_bytes(state, 5 * dy.nbytes());
}

void add(benchmark::State& state) {
  const Tensor a = filled(Shape{1024, 512}, dtype_argument(state)), b = a.clone(), c = a.clone();
  for (auto _ : state) {
    kernel::add(a, b, c);
  }
  count_bytes(state, 3 * a.nbytes());
}

void cross_entropy(benchmark::State& state) {
  const Tensor logits = filled(Shape{1024, 256}, dtype_argument(state)), dlogits = logits.clone();
  const Tensor targets = Tensor::zeros(Shape{1024}, DType::i32);
  const Tensor lse = Tensor::empty(Shape{1024}, DType::f32);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernel::cross_entropy_forward(logits, targets, lse));
    kernel::cross_entropy_backward(logits, targets, lse, 1.0 / 1024, dlogits);
  }
  count_bytes(state, 2 * logits.nbytes());
}

/// f32 masters, with a bf16 compute copy when asked: 28 or 30 bytes an element.
void adamw_step(benchmark::State& state) {
  const Tensor param = filled(Shape{4 << 20}, DType::f32), grad = param.clone();
  const Tensor m = Tensor::zeros(param.shape(), DType::f32), v = m.clone();
  const Tensor copy = state.range(0) == 0 ? Tensor() : Tensor::zeros(param.shape(), DType::bf16);
  for (auto _ : state) {
    kernel::adamw_step({}, param, grad, m, v, copy);
  }
  count_bytes(state, 7 * param.nbytes() + copy.nbytes());
}

void grad_stats(benchmark::State& state) {
  const Tensor grad = filled(Shape{4 << 20}, DType::f32);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernel::grad_stats(grad));
  }
  count_bytes(state, grad.nbytes());
}

void sum_sources(benchmark::State& state) {
  const Tensor dst = filled(Shape{4 << 20}, DType::f32);
  const std::vector<Tensor> sources = {dst.clone(), dst.clone()};
  for (auto _ : state) {
    kernel::sum_sources(sources, dst, false);
  }
  count_bytes(state, 3 * dst.nbytes());
}

void to_bf16(benchmark::State& state) {
  const Tensor from = filled(Shape{4 << 20}, DType::f32), to = to_dtype(from, DType::bf16);
  for (auto _ : state) {
    convert(from, to);
  }
  count_bytes(state, from.nbytes() + to.nbytes());
}

void from_bf16(benchmark::State& state) {
  const Tensor from = filled(Shape{4 << 20}, DType::bf16), to = to_dtype(from, DType::f32);
  for (auto _ : state) {
    convert(from, to);
  }
  count_bytes(state, from.nbytes() + to.nbytes());
}

BENCHMARK(copy);
BENCHMARK(rms_norm_forward)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(rms_norm_backward)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(rope_pack)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(swiglu_forward)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(swiglu_backward)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(add)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(cross_entropy)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(adamw_step)->ArgName("bf16")->Arg(0)->Arg(1);
BENCHMARK(grad_stats);
BENCHMARK(sum_sources);
BENCHMARK(to_bf16);
BENCHMARK(from_bf16);

}  // namespace
}  // namespace sherd::bench
