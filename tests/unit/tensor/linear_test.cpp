#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(LinearTest);

TEST_P(LinearTest, AddAlsoInPlace) {
  for (const std::int64_t count : {0, 1, 5, 100, 40000}) {
    const Tensor a = random(Shape{count}, dtype(), 1);
    const Tensor b = random(Shape{count}, dtype(), 2);
    Values expected = values_of(a);
    const Values other = values_of(b);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += other[i];
    }
    const Tensor out = Tensor::empty(Shape{count}, dtype());
    add(a, b, out, path());
    test::expect_close(out, expected, bound(1));
    add(a, b, a, path());
    EXPECT_TRUE(test::same_bits(a, out));
  }
}

TEST_P(LinearTest, ScaleIntoEveryPairOfTypes) {
  for (const DType to : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    const Tensor x = random(Shape{35}, dtype(), 1);
    const Tensor y = random(Shape{35}, to, 2);
    const Values old = values_of(y), from = values_of(x);
    scale_into(0.75, x, y, Write::accumulate);
    Values added, replaced;
    for (std::size_t i = 0; i < old.size(); ++i) {
      added.push_back(old[i] + 0.75 * from[i]);
      replaced.push_back(-2 * from[i]);
    }
    const double limit = 1.01 * test::rounding(to) + 3 * test::rounding(DType::f32);
    test::expect_close(y, added, limit);
    scale_into(-2, x, y, Write::overwrite);
    test::expect_close(y, replaced, limit);
  }
}

TEST_P(LinearTest, BiasIsAddedAndItsGradientSummed) {
  for (const auto& [rows, dim] : {std::pair{0, 5}, std::pair{1, 1}, std::pair{9, 37}}) {
    const Tensor x = random(Shape{rows, dim}, dtype(), 1);
    const Tensor bias = random(Shape{dim}, dtype(), 2);
    const Tensor y = Tensor::empty(Shape{rows, dim}, dtype());
    add_bias(x, bias, y);
    const Tensor dbias = random(Shape{dim}, compute(), 3);
    const Values old = values_of(dbias);
    sum_rows(x, dbias, Write::accumulate);
    const Tensor fresh = random(Shape{dim}, compute(), 4);
    sum_rows(x, fresh, Write::overwrite);
    Values expected = values_of(x), sums(static_cast<std::size_t>(dim)), added = old;
    const Values b = values_of(bias);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      sums[i % b.size()] += expected[i];
      added[i % b.size()] += expected[i];
      expected[i] += b[i % b.size()];
    }
    test::expect_close(y, expected, bound(1));
    test::expect_close(fresh, sums, 20 * test::rounding(compute()));
    test::expect_close(dbias, added, 20 * test::rounding(compute()));
  }
}

TEST(LinearArgumentsTest, RejectsWhatDoesNotFit) {
  const Tensor x = Tensor::zeros(Shape{2, 3}, DType::f32);
  EXPECT_THROW(add(x, x, Tensor::zeros(Shape{6}, DType::f32)), ArgumentError);
  EXPECT_THROW(add_bias(x, Tensor::zeros(Shape{2}, DType::f32), x), ArgumentError);
  EXPECT_THROW(sum_rows(x, Tensor::zeros(Shape{3}, DType::bf16), Write::overwrite), ArgumentError);
  EXPECT_THROW(scale_into(1, x, Tensor::zeros(Shape{5}, DType::f32), Write::overwrite),
               ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
