#include <gtest/gtest.h>

#include <algorithm>

#include "support/grad_check.hpp"

/// A rank may have no rows in a micro-batch: its parameters' gradients must then be zeros, written.
namespace sherd::autograd {
namespace {

using test::random_tensor;

void expect_zeros(const Variable& parameter) {
  ASSERT_TRUE(parameter.grad_written());
  const auto values = parameter.grad().span<float>();
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return v == 0.0F; }));
}

Variable parameter(Shape shape, DType dtype) {
  Variable result(random_tensor(shape, 1, dtype), true);
  const Tensor garbage = random_tensor(shape, 2, DType::f32);
  result.set_grad_buffer(garbage);
  return result;
}

class ZeroRows : public testing::TestWithParam<DType> {};

TEST_P(ZeroRows, WriteZeroGradients) {
  const DType dtype = GetParam();
  const Variable table = parameter({7, 6}, dtype);
  const Variable scale = parameter({6}, dtype);
  const Variable gate = parameter({8, 6}, dtype);
  const Variable up = parameter({8, 6}, dtype);
  const Variable down = parameter({6, 8}, dtype);
  const Variable bias = parameter({6}, dtype);
  const auto tables = kernel::make_rope_tables(5, 2, 100.0);
  const Variable h = rms_norm(embedding(table, Tensor::empty({0, 5}, DType::i32)), scale, 1e-5);
  const Variable heads = rope(h, 2, &tables);
  const Variable mixed = add(h, attention(heads, heads, heads));
  const auto halves = linear_multi(mixed, std::vector<Variable>{gate, up});
  const Variable y = linear(swiglu(halves[0], halves[1]), down, bias);
  EXPECT_EQ(y.shape(), (Shape{0, 5, 6}));
  const Variable loss = cross_entropy(y, Tensor::empty({0, 5}, DType::i32), 1.0);
  EXPECT_EQ(*loss.data().data<double>(), 0.0);
  backward(loss);
  for (const Variable& each : {table, scale, gate, up, down, bias}) {
    expect_zeros(each);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ZeroRows, testing::Values(DType::f32, DType::bf16, DType::f16));

}  // namespace
}  // namespace sherd::autograd
