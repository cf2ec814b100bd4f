#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(AdamWTest);

/// Algorithm 2 of the paper with PyTorch's decay, one element at a time.
struct Reference {
  Values p, m, v;
  void step(const AdamWParams& h, const Values& grad) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = grad[i] * h.grad_scale;
      p[i] -= h.learning_rate * h.weight_decay * p[i];
      m[i] = h.beta1 * m[i] + (1 - h.beta1) * g;
      v[i] = h.beta2 * v[i] + (1 - h.beta2) * g * g;
      const double mean = m[i] / (1 - std::pow(h.beta1, double(h.step)));
      const double square = v[i] / (1 - std::pow(h.beta2, double(h.step)));
      p[i] -= h.learning_rate * mean / (std::sqrt(square) + h.epsilon);
    }
  }
};

/// The way's dtype is that of the compute copy here; masters are f32, or f64 beside f64.
TEST_P(AdamWTest, FollowsTheReferenceForManySteps) {
  for (const std::int64_t count : {0, 1, 13, 64, 20001}) {
    const Shape shape{count};
    const Tensor param = random(shape, compute(), 1), m = Tensor::zeros(shape, compute());
    const Tensor v = Tensor::zeros(shape, compute()), copy = Tensor::zeros(shape, dtype());
    Reference reference{values_of(param), values_of(m), values_of(v)};
    AdamWParams h{0.02, 0.9, 0.95, 1e-8, 0.1, 0.5, 1};
    for (h.step = 1; h.step <= 5; ++h.step) {
      const Tensor grad = random(shape, compute(), unsigned(10 + h.step), 3.0);
      adamw_step(h, param, grad, m, v, h.step == 3 ? Tensor() : copy, path());
      reference.step(h, values_of(grad));
    }
    test::expect_close(param, reference.p, 60 * test::rounding(compute()));
    test::expect_close(m, reference.m, 20 * test::rounding(compute()));
    test::expect_close(v, reference.v, 20 * test::rounding(compute()));
    EXPECT_TRUE(test::same_bits(copy, to_dtype(param, dtype())));
  }
}

TEST_P(AdamWTest, NanReachesTheParameter) {
  const Tensor param = Tensor::zeros(Shape{21}, compute()), m = Tensor::zeros(Shape{21}, compute());
  const Tensor v = Tensor::zeros(Shape{21}, compute()), copy = Tensor::zeros(Shape{21}, dtype());
  Values g(21, 1.0);
  g[20] = test::kNan;
  adamw_step({}, param, test::make(Shape{21}, compute(), g), m, v, copy, path());
  EXPECT_TRUE(std::isnan(values_of(param)[20]));
  EXPECT_TRUE(std::isnan(values_of(copy)[20]));
  EXPECT_FALSE(std::isnan(values_of(param)[19]));
}

TEST(AdamWBitsTest, EveryInstructionSetAndPathGivesTheSameBits) {
  const auto run = [](Path path, Isa isa) {
    limit_host_isa(isa);
    const Shape shape{1003};
    const Tensor param = random(shape, DType::f32, 1), m = random(shape, DType::f32, 2, 0.1);
    const Tensor v = test::make(shape, DType::f32, Values(1003, 0.01));
    adamw_step({}, param, random(shape, DType::f32, 3), m, v, Tensor(), path);
    limit_host_isa(Isa::v4);
    return param;
  };
  const Tensor baseline = run(Path::host, Isa::baseline);
  EXPECT_TRUE(test::same_bits(run(Path::host, Isa::v3), baseline));
  EXPECT_TRUE(test::same_bits(run(Path::host, Isa::v4), baseline));
}

TEST(AdamWBitsTest, APieceOfTheRangeGivesTheBitsOfTheWhole) {
  const Shape shape{777};
  const Tensor grad = random(shape, DType::f32, 3), whole = random(shape, DType::f32, 1);
  const Tensor pieces = whole.clone();
  const Tensor m = Tensor::zeros(shape, DType::f32), v = Tensor::zeros(shape, DType::f32);
  const Tensor m2 = m.clone(), v2 = v.clone();
  adamw_step({}, whole, grad, m, v, Tensor());
  for (const auto& [begin, count] : {std::pair{0, 5}, std::pair{5, 700}, std::pair{705, 72}}) {
    adamw_step({}, pieces.slice(begin, count), grad.slice(begin, count), m2.slice(begin, count),
               v2.slice(begin, count), Tensor());
  }
  EXPECT_TRUE(test::same_bits(whole, pieces));
}

/// Masters of f32 and f64 with every narrower gradient, over several chunks.
TEST(AdamWBitsTest, ANarrowGradientGivesTheBitsOfTheWidenedOne) {
  const Shape shape{9001};
  for (const auto& [master, narrow] :
       {std::pair{DType::f32, DType::bf16}, std::pair{DType::f32, DType::f16},
        std::pair{DType::f64, DType::f32}, std::pair{DType::f64, DType::bf16}}) {
    const Tensor grad = random(shape, narrow, 3);
    const auto run = [&, dtype = master](const Tensor& gradient, const Tensor& copy) {
      const Tensor param = random(shape, dtype, 1), m = random(shape, dtype, 2, 0.1);
      const Tensor v = test::make(shape, dtype, Values(9001, 0.01));
      adamw_step({.weight_decay = 0.1, .grad_scale = 0.5}, param, gradient, m, v, copy);
      return std::vector{param, m, v, copy};
    };
    const auto expected = run(to_dtype(grad, master), Tensor::empty(shape, DType::bf16));
    const auto found = run(grad, Tensor::empty(shape, DType::bf16));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::same_bits(found[i], expected[i])) << to_string(narrow) << ' ' << i;
    }
  }
}

TEST(AdamWArgumentsTest, RejectsWhatDoesNotFit) {
  const Tensor f = Tensor::zeros(Shape{4}, DType::f32), b = Tensor::zeros(Shape{4}, DType::bf16);
  EXPECT_THROW(adamw_step({}, b, b, b, b, Tensor()), ArgumentError);
  EXPECT_THROW(adamw_step({}, f, f, b, f, Tensor()), ArgumentError);
  EXPECT_THROW(adamw_step({}, f, Tensor::zeros(Shape{4}, DType::f64), f, f, Tensor()),
               ArgumentError);
  EXPECT_THROW(adamw_step({}, f, Tensor::zeros(Shape{5}, DType::f32), f, f, Tensor()),
               ArgumentError);
  AdamWParams zero;
  zero.step = 0;
  EXPECT_THROW(adamw_step(zero, f, f.clone(), f.clone(), f.clone(), Tensor()), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
