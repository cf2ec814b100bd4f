#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/norm.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

constexpr double kEps = 1e-5;

SHERD_EVERY_WAY(RmsNormTest);

struct Reference {
  Values y, inv, dx, dweight;
};

Reference reference(const Values& x, const Values& w, const Values& dy) {
  Reference r{Values(x.size()), {}, Values(x.size()), Values(w.size())};
  const std::size_t dim = w.size();
  for (std::size_t row = 0; row < x.size() / dim; ++row) {
    double squares = 0, dot = 0;
    for (std::size_t j = 0; j < dim; ++j) {
      squares += x[row * dim + j] * x[row * dim + j];
      dot += dy[row * dim + j] * w[j] * x[row * dim + j];
    }
    const double inv = 1 / std::sqrt(squares / double(dim) + kEps);
    r.inv.push_back(inv);
    for (std::size_t j = 0; j < dim; ++j) {
      const std::size_t i = row * dim + j;
      r.y[i] = x[i] * inv * w[j];
      r.dx[i] = inv * dy[i] * w[j] - x[i] * inv * inv * inv * dot / double(dim);
      r.dweight[j] += dy[i] * x[i] * inv;
    }
  }
  return r;
}

TEST_P(RmsNormTest, ForwardAndBackwardAgreeWithTheDefinition) {
  for (const auto& [rows, dim] :
       {std::pair{0, 8}, std::pair{1, 1}, std::pair{3, 5}, std::pair{17, 64}, std::pair{5, 131}}) {
    const Shape shape{rows, dim};
    const Tensor x = random(shape, dtype(), 1, 2.0), w = random(Shape{dim}, dtype(), 2);
    const Tensor dy = random(shape, dtype(), 3);
    const Tensor y = Tensor::empty(shape, dtype()), inv = Tensor::empty(Shape{rows}, compute());
    const Tensor dx = Tensor::empty(shape, dtype()), dw = random(Shape{dim}, compute(), 4);
    rms_norm_forward(x, w, kEps, y, inv, path());
    rms_norm_backward(x, w, inv, dy, dx, Write::overwrite, dw, Write::overwrite, path());
    const Reference expected = reference(values_of(x), values_of(w), values_of(dy));
    // Sums of up to 131 terms in f32.
    test::expect_close(y, expected.y, bound(30));
    test::expect_close(inv, expected.inv, 30 * test::rounding(compute()));
    test::expect_close(dx, expected.dx, bound(60));
    test::expect_close(dw, expected.dweight, 60 * test::rounding(compute()));
  }
}

TEST_P(RmsNormTest, AccumulatesAndLeavesOut) {
  const Shape shape{6, 19};
  const Tensor x = random(shape, dtype(), 1), w = random(Shape{19}, dtype(), 2);
  const Tensor dy = random(shape, dtype(), 3);
  const Tensor y = Tensor::empty(shape, dtype()), inv = Tensor::empty(Shape{6}, compute());
  rms_norm_forward(x, w, kEps, y, inv, path());
  Reference expected = reference(values_of(x), values_of(w), values_of(dy));
  const Tensor dx = random(shape, dtype(), 4), dw = random(Shape{19}, compute(), 5);
  for (std::size_t i = 0; i < expected.dx.size(); ++i) {
    expected.dx[i] += values_of(dx)[i];
  }
  for (std::size_t j = 0; j < expected.dweight.size(); ++j) {
    expected.dweight[j] += values_of(dw)[j];
  }
  rms_norm_backward(x, w, inv, dy, dx, Write::accumulate, Tensor(), Write::overwrite, path());
  rms_norm_backward(x, w, inv, dy, Tensor(), Write::overwrite, dw, Write::accumulate, path());
  test::expect_close(dx, expected.dx, bound(60));
  test::expect_close(dw, expected.dweight, 60 * test::rounding(compute()));
}

TEST_P(RmsNormTest, NanStaysInItsRow) {
  Values values(3 * 20, 1.0);
  values[25] = test::kNan;
  const Tensor x = test::make(Shape{3, 20}, dtype(), values);
  const Tensor w = test::make(Shape{20}, dtype(), Values(20, 1.0));
  const Tensor y = Tensor::empty(Shape{3, 20}, dtype()), inv = Tensor::empty(Shape{3}, compute());
  rms_norm_forward(x, w, kEps, y, inv, path());
  const Values got = values_of(y);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isnan(got[i]), i >= 20 && i < 40) << i;
  }
}

TEST(RmsNormGradientTest, FiniteDifferences) {
  const Shape shape{3, 7};
  const Tensor x = random(shape, DType::f64, 1), w = random(Shape{7}, DType::f64, 2);
  const Tensor dy = random(shape, DType::f64, 3), y = Tensor::empty(shape, DType::f64);
  const Tensor inv = Tensor::empty(Shape{3}, DType::f64);
  const Tensor dx = Tensor::empty(shape, DType::f64), dw = Tensor::empty(Shape{7}, DType::f64);
  const auto loss = [&] {
    rms_norm_forward(x, w, kEps, y, inv);
    return test::inner(y, dy);
  };
  loss();
  rms_norm_backward(x, w, inv, dy, dx, Write::overwrite, dw, Write::overwrite);
  test::expect_gradient(x, dx, loss);
  test::expect_gradient(w, dw, loss);
}

TEST(RmsNormArgumentsTest, RejectsWhatDoesNotFit) {
  const Tensor x = Tensor::zeros(Shape{2, 4}, DType::f32), w = Tensor::zeros(Shape{4}, DType::f32);
  const Tensor inv = Tensor::zeros(Shape{2}, DType::f32);
  EXPECT_NO_THROW(rms_norm_forward(x, w, kEps, x.clone(), inv));
  EXPECT_THROW(rms_norm_forward(x, Tensor::zeros(Shape{3}, DType::f32), kEps, x, inv),
               ArgumentError);
  EXPECT_THROW(rms_norm_forward(x, w, kEps, x, Tensor::zeros(Shape{3}, DType::f32)), ArgumentError);
  EXPECT_THROW(rms_norm_forward(x, to_dtype(w, DType::bf16), kEps, x, inv), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
