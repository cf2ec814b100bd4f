// The attention of GPUs, on the host and on the emulated device, against the host's own.

#include <gtest/gtest.h>

#include <tuple>

#include "sherd/runtime/emulated_device.hpp"
#include "sherd/tensor/kernel/attention.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/attention_whole.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

/// Query heads in groups of two, a sequence that is no multiple of anything.
constexpr AttentionShape kShape{2, 6, 3, 70, 16};
/// Scores of one key/value head at a time, of two (the last run has fewer), and of all.
constexpr std::int64_t kScores = 2 * 70 * 70;

struct Tensors {
  Tensor q, k, v, out, lse, dout, dq, dk, dv;
};

Tensors make_tensors(DType dtype, MemoryKind where) {
  const Shape q{2, 6, 70, 16}, kv{2, 3, 70, 16}, rows{140, 96}, lse{2, 6, 70};
  const auto put = [where](const Tensor& tensor) {
    return where == MemoryKind::device ? to_device(tensor) : tensor;
  };
  return {put(test::random(q, dtype, 1)),      put(test::random(kv, dtype, 2)),
          put(test::random(kv, dtype, 3)),     put(Tensor::zeros(rows, dtype)),
          put(Tensor::zeros(lse, DType::f32)), put(test::random(rows, dtype, 4)),
          put(Tensor::zeros(q, dtype)),        put(Tensor::zeros(kv, dtype)),
          put(Tensor::zeros(kv, dtype))};
}

template <class T>
void run_whole(const Tensors& t, runtime::Device* device, std::int64_t score_bytes) {
  attention_forward_whole<T>({kShape, 0.25F, t.q.data<T>(), t.k.data<T>(), t.v.data<T>(),
                              t.out.data<T>(), t.lse.data<float>()},
                             device, score_bytes);
  const AttentionGradients<T> in{
      kShape,        0.25F,           t.q.data<T>(),       t.k.data<T>(),
      t.v.data<T>(), t.out.data<T>(), t.lse.data<float>(), t.dout.data<T>()};
  attention_backward_whole<T>({in, t.dq.data<T>(), t.dk.data<T>(), t.dv.data<T>()}, device,
                              score_bytes);
}

void run_whole(const Tensors& t, DType dtype, runtime::Device* device, std::int64_t score_bytes) {
  visit_dtype(dtype, "attention", [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>) {
      run_whole<T>(t, device, score_bytes);
    }
  });
}

class AttentionWhole : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {};

TEST_P(AttentionWhole, AgreesWithTheHosts) {
  const auto [dtype, score_bytes] = GetParam();
  const Tensors whole = make_tensors(dtype, MemoryKind::host);
  const Tensors host = make_tensors(dtype, MemoryKind::host);
  run_whole(whole, dtype, nullptr, score_bytes);
  attention_forward(host.q, host.k, host.v, host.out, host.lse);
  attention_backward(host.q, host.k, host.v, host.out, host.lse, host.dout, host.dq, host.dk,
                     host.dv);
  const double rounding = dtype == DType::f32 ? 1e-5 : (dtype == DType::f16 ? 0x1p-8 : 0x1p-5);
  for (const auto member :
       {&Tensors::out, &Tensors::lse, &Tensors::dq, &Tensors::dk, &Tensors::dv}) {
    test::expect_close(whole.*member, test::values_of(host.*member), rounding);
  }
}

TEST_P(AttentionWhole, IsTheSameOnADevice) {
  const auto [dtype, score_bytes] = GetParam();
  const auto device = runtime::make_emulated({.memory_bytes = std::size_t{64} << 20, .seed = 3});
  const runtime::DeviceScope scope(device);
  const Tensors there = make_tensors(dtype, MemoryKind::device);
  const Tensors here = make_tensors(dtype, MemoryKind::host);
  run_whole(there, dtype, device.get(), score_bytes);
  run_whole(here, dtype, nullptr, score_bytes);
  for (const auto member :
       {&Tensors::out, &Tensors::lse, &Tensors::dq, &Tensors::dk, &Tensors::dv}) {
    EXPECT_TRUE(test::same_bits(to_host(there.*member), here.*member));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, AttentionWhole,
                         testing::Combine(testing::Values(DType::f32, DType::bf16, DType::f16),
                                          testing::Values(1, 2 * 8 * kScores, 1 << 28)));

}  // namespace
}  // namespace sherd::kernel
