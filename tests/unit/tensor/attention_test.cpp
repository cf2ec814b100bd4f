#include "sherd/tensor/kernel/attention.hpp"

#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "tensor/kernel/attention_blocked.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(AttentionTest);

struct Sizes {
  std::int64_t batch, heads, kv_heads, seq, dim;
  [[nodiscard]] Shape q() const { return {batch, heads, seq, dim}; }
  [[nodiscard]] Shape kv() const { return {batch, kv_heads, seq, dim}; }
  [[nodiscard]] Shape out() const { return {batch * seq, heads * dim}; }
  [[nodiscard]] Shape lse() const { return {batch, heads, seq}; }
};

struct Result {
  Values out, lse, dq, dk, dv;
};

/// The textbook form: softmax of whole rows, gradients by the chain rule.
class Reference {
 public:
  Reference(const Sizes& s, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout)
      : s_(s), q_(values_of(q)), k_(values_of(k)), v_(values_of(v)), dout_(values_of(dout)) {
    result_.out.resize(q_.size());
    result_.lse.resize(std::size_t(s.lse().numel()));
    result_.dq.resize(q_.size());
    result_.dk.resize(k_.size());
    result_.dv.resize(v_.size());
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        for (std::int64_t i = 0; i < s.seq; ++i) {
          row(b, h, i);
        }
      }
    }
  }
  [[nodiscard]] const Result& result() const { return result_; }

 private:
  [[nodiscard]] std::size_t at(std::int64_t head, std::int64_t i, std::int64_t d) const {
    return std::size_t((head * s_.seq + i) * s_.dim + d);
  }
  void row(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t qh = b * s_.heads + h;
    const std::int64_t kh = b * s_.kv_heads + h / (s_.heads / s_.kv_heads);
    const double scale = 1 / std::sqrt(double(s_.dim));
    Values p(std::size_t(i + 1)), dp(std::size_t(i + 1));
    double sum = 0, most = -test::kInf, delta = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < s_.dim; ++d) {
        score += q_[at(qh, i, d)] * k_[at(kh, j, d)];
        dp[std::size_t(j)] += dout_[out_at(b, h, i, d)] * v_[at(kh, j, d)];
      }
      p[std::size_t(j)] = score * scale;
      most = std::max(most, score * scale);
    }
    for (double& value : p) {
      value = std::exp(value - most);
      sum += value;
    }
    result_.lse[std::size_t(qh * s_.seq + i)] = most + std::log(sum);
    for (std::size_t j = 0; j < p.size(); ++j) {
      p[j] /= sum;
      delta += p[j] * dp[j];
    }
    for (std::int64_t j = 0; j <= i; ++j) {
      const double weight = p[std::size_t(j)];
      const double dscore = scale * weight * (dp[std::size_t(j)] - delta);
      for (std::int64_t d = 0; d < s_.dim; ++d) {
        result_.out[out_at(b, h, i, d)] += weight * v_[at(kh, j, d)];
        result_.dq[at(qh, i, d)] += dscore * k_[at(kh, j, d)];
        result_.dk[at(kh, j, d)] += dscore * q_[at(qh, i, d)];
        result_.dv[at(kh, j, d)] += weight * dout_[out_at(b, h, i, d)];
      }
    }
  }
  [[nodiscard]] std::size_t out_at(std::int64_t b, std::int64_t h, std::int64_t i,
                                   std::int64_t d) const {
    return std::size_t(((b * s_.seq + i) * s_.heads + h) * s_.dim + d);
  }

  Sizes s_;
  Values q_, k_, v_, dout_;
  Result result_;
};

struct Attention {
  Attention(const Sizes& s, DType dtype, double scale = 1.0)
      : q(random(s.q(), dtype, 1, scale)),
        k(random(s.kv(), dtype, 2, scale)),
        v(random(s.kv(), dtype, 3)),
        dout(random(s.out(), dtype, 4)),
        out(Tensor::empty(s.out(), dtype)),
        lse(Tensor::empty(s.lse(), test::compute_of(dtype))),
        dq(Tensor::empty(s.q(), dtype)),
        dk(Tensor::empty(s.kv(), dtype)),
        dv(Tensor::empty(s.kv(), dtype)) {}
  void forward(Path path) const { attention_forward(q, k, v, out, lse, path); }
  void backward(Path path) const { attention_backward(q, k, v, out, lse, dout, dq, dk, dv, path); }
  Tensor q, k, v, dout, out, lse, dq, dk, dv;
};

TEST_P(AttentionTest, AgreesWithTheDefinition) {
  const Sizes all[] = {{1, 1, 1, 1, 1},    {2, 4, 2, 24, 8},   {1, 2, 2, 7, 3},
                       {0, 2, 1, 5, 4},    {1, 6, 2, 129, 16}, {1, 2, 1, 200, 64},
                       {1, 1, 1, 65, 136}, {2, 2, 2, 0, 8},    {1, 3, 3, 128, 32}};
  for (const Sizes& s : all) {
    const Attention run(s, dtype());
    run.forward(path());
    run.backward(path());
    const Result expected = Reference(s, run.q, run.k, run.v, run.dout).result();
    SCOPED_TRACE(s.q().to_string());
    // f32: sums of up to 200 products, exponentials; 16 bits: probabilities and their gradients may
    // be rounded before the products, and `out` has been before the backward reads it.
    const double forward = bound(100) + (dtype() == DType::bf16 ? 0x1p-8 : 0);
    const double narrow = dtype() == DType::bf16 ? 0x1p-5 : 0x1p-8;
    const double backward = size_of(dtype()) == 2 ? narrow : bound(300);
    test::expect_close(run.lse, expected.lse, 100 * test::rounding(compute()));
    test::expect_close(run.out, expected.out, forward);
    test::expect_close(run.dq, expected.dq, backward);
    test::expect_close(run.dk, expected.dk, backward);
    test::expect_close(run.dv, expected.dv, backward);
  }
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  const Sizes s{1, 1, 1, 140, 64};
  const Attention run(s, dtype(), 12.0);
  run.forward(path());
  const Result expected = Reference(s, run.q, run.k, run.v, run.dout).result();
  // Scores of hundreds: their own rounding moves the probabilities.
  const double forward = dtype() == DType::f64 ? 1e-11 : dtype() == DType::f32 ? 1e-3 : 2e-2;
  test::expect_close(run.out, expected.out, forward);
}

TEST_P(AttentionTest, TwiceGivesTheSameBits) {
  const Attention first({1, 4, 2, 150, 16}, dtype()), second({1, 4, 2, 150, 16}, dtype());
  for (const Attention* run : {&first, &second}) {
    run->forward(path());
    run->backward(path());
  }
  EXPECT_TRUE(test::same_bits(first.out, second.out));
  EXPECT_TRUE(test::same_bits(first.lse, second.lse));
  EXPECT_TRUE(test::same_bits(first.dq, second.dq));
  EXPECT_TRUE(test::same_bits(first.dk, second.dk));
  EXPECT_TRUE(test::same_bits(first.dv, second.dv));
}

TEST_P(AttentionTest, TheFutureIsNotSeen) {
  const Sizes s{1, 2, 1, 133, 16};
  const Attention run(s, dtype());
  run.forward(path());
  const Tensor before = run.out.clone();
  // Another last key and value: no row but the last may change.
  const Tensor other = random(Shape{s.dim}, dtype(), 9, 3.0);
  convert(other, run.k.slice((s.seq - 1) * s.dim, s.dim));
  convert(other, run.v.slice((s.seq - 1) * s.dim, s.dim));
  run.forward(path());
  const std::int64_t kept = (s.seq - 1) * s.heads * s.dim;
  EXPECT_TRUE(test::same_bits(run.out.slice(0, kept), before.slice(0, kept)));
  EXPECT_FALSE(test::same_bits(run.out, before));
}

TEST_P(AttentionTest, NanReachesItsRowAndThoseBelow) {
  const Sizes s{1, 1, 1, 70, 8};
  const Attention run(s, dtype());
  const Tensor bad = test::make(Shape{1}, dtype(), {test::kNan});
  convert(bad, run.k.slice(40 * s.dim + 3, 1));
  run.forward(path());
  const Values got = values_of(run.out);
  EXPECT_FALSE(std::isnan(got[std::size_t(39 * s.dim)]));
  EXPECT_TRUE(std::isnan(got[std::size_t(40 * s.dim)]));
  EXPECT_TRUE(std::isnan(got[std::size_t(69 * s.dim)]));
}

/// Products of bf16, as CPUs with bf16 instructions take them, checked on every CPU.
TEST(AttentionOperandsTest, Bf16ProductsAgreeWithTheDefinition) {
  const Sizes s{2, 4, 2, 150, 16};
  const Attention run(s, DType::bf16);
  const AttentionShape shape{s.batch, s.heads, s.kv_heads, s.seq, s.dim};
  using B = BFloat16;
  const AttentionForwardArguments<B> forward{shape,
                                             0.25F,
                                             run.q.data<B>(),
                                             run.k.data<B>(),
                                             run.v.data<B>(),
                                             run.out.data<B>(),
                                             run.lse.data<float>()};
  attention_forward_blocked(forward, DType::bf16, nullptr);
  const AttentionGradients<B> in{shape,
                                 0.25F,
                                 run.q.data<B>(),
                                 run.k.data<B>(),
                                 run.v.data<B>(),
                                 run.out.data<B>(),
                                 run.lse.data<float>(),
                                 run.dout.data<B>()};
  attention_backward_blocked({in, run.dq.data<B>(), run.dk.data<B>(), run.dv.data<B>()},
                             DType::bf16, nullptr);
  const Result expected = Reference(s, run.q, run.k, run.v, run.dout).result();
  test::expect_close(run.out, expected.out, 2 * 0x1p-8);
  test::expect_close(run.lse, expected.lse, 1e-5);
  test::expect_close(run.dq, expected.dq, 0x1p-5);
  test::expect_close(run.dk, expected.dk, 0x1p-5);
  test::expect_close(run.dv, expected.dv, 0x1p-5);
}

TEST(AttentionGradientTest, FiniteDifferences) {
  const Sizes s{1, 2, 1, 6, 5};
  const Attention run(s, DType::f64);
  const auto loss = [&] {
    run.forward(Path::automatic);
    return test::inner(run.out, run.dout);
  };
  loss();
  run.backward(Path::automatic);
  test::expect_gradient(run.q, run.dq, loss);
  test::expect_gradient(run.k, run.dk, loss);
  test::expect_gradient(run.v, run.dv, loss);
}

TEST(AttentionArgumentsTest, RejectsWhatDoesNotFit) {
  const Attention run({1, 4, 2, 5, 4}, DType::f32);
  EXPECT_NO_THROW(run.forward(Path::automatic));
  EXPECT_THROW(attention_forward(run.q, run.q, run.v, run.out, run.lse), ArgumentError);
  const Tensor three = Tensor::zeros(Shape{1, 3, 5, 4}, DType::f32);
  EXPECT_THROW(attention_forward(run.q, three, three, run.out, run.lse), ArgumentError);
  EXPECT_THROW(attention_forward(run.q, run.k, run.v, run.q, run.lse), ArgumentError);
  EXPECT_THROW(attention_forward(run.q, to_dtype(run.k, DType::bf16), run.v, run.out, run.lse),
               ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
