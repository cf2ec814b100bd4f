#include "sherd/tensor/kernel/embedding.hpp"

#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::make_i32;
using test::random;
using test::Values;
using test::values_of;

class EmbeddingTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, EmbeddingTest,
                         testing::Values(DType::f32, DType::bf16, DType::f16, DType::f64));

TEST_P(EmbeddingTest, LooksUpRows) {
  const Tensor table = random(Shape{5, 7}, GetParam(), 1);
  const Tensor ids = make_i32({4, 0, 4, 2});
  const Tensor out = Tensor::empty(Shape{4, 7}, GetParam());
  embedding_forward(table, ids, out);
  EXPECT_TRUE(test::same_bits(out.slice(0, 7), table.slice(28, 7)));
  EXPECT_TRUE(test::same_bits(out.slice(7, 7), table.slice(0, 7)));
  EXPECT_TRUE(test::same_bits(out.slice(14, 7), table.slice(28, 7)));
  EXPECT_TRUE(test::same_bits(out.slice(21, 7), table.slice(14, 7)));
}

TEST_P(EmbeddingTest, GradientsOfRepeatedIdsAdd) {
  const DType sums = test::compute_of(GetParam());
  const Tensor dout = random(Shape{3, 9}, GetParam(), 1);
  const Tensor ids = make_i32({1, 3, 1});
  const Tensor dtable = random(Shape{4, 9}, sums, 2);
  Values expected(36), added = values_of(dtable);
  const Values grads = values_of(dout);
  for (std::size_t i = 0; i < 27; ++i) {
    const std::size_t row = i / 9 == 1 ? 3 : 1;
    expected[row * 9 + i % 9] += grads[i];
    added[row * 9 + i % 9] += grads[i];
  }
  embedding_backward(ids, dout, dtable, Write::accumulate);
  test::expect_close(dtable, added, 3 * test::rounding(sums));
  embedding_backward(ids, dout, dtable, Write::overwrite);
  test::expect_close(dtable, expected, 3 * test::rounding(sums));
}

TEST(EmbeddingArgumentsTest, RejectsIdsOutsideTheTable) {
  const Tensor table = random(Shape{5, 2}, DType::f32, 1);
  const Tensor out = Tensor::zeros(Shape{2, 2}, DType::f32);
  EXPECT_THROW(embedding_forward(table, make_i32({0, 5}), out), ArgumentError);
  EXPECT_THROW(embedding_forward(table, make_i32({0, -1}), out), ArgumentError);
  EXPECT_THROW(embedding_backward(make_i32({5, 0}), out, table, Write::accumulate), ArgumentError);
  EXPECT_THROW(embedding_forward(table, make_i32({0, 1, 2}), out), ArgumentError);
  EXPECT_NO_THROW(embedding_forward(table, make_i32({}), Tensor::zeros(Shape{0, 2}, DType::f32)));
}

}  // namespace
}  // namespace sherd::kernel
