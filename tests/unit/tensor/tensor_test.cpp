#include "sherd/tensor/tensor.hpp"

#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "unit/tensor/values.hpp"

namespace sherd {
namespace {

TEST(ShapeTest, CountsElementsAndRows) {
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(Shape{}.rows(), 1);
  EXPECT_EQ((Shape{2, 3, 5}.numel()), 30);
  EXPECT_EQ((Shape{2, 3, 5}.rows()), 6);
  EXPECT_EQ((Shape{2, 0, 5}.numel()), 0);
  EXPECT_EQ((Shape{4, 0}.rows()), 4);
  EXPECT_EQ((Shape{2, 3}.to_string()), "[2, 3]");
}

TEST(ShapeTest, IndexesFromBothEnds) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_THROW(static_cast<void>(shape[3]), ArgumentError);
  EXPECT_THROW(static_cast<void>(shape[-4]), ArgumentError);
  EXPECT_THROW(static_cast<void>(Shape{}[0]), ArgumentError);
}

TEST(TensorTest, DefaultIsUndefinedAndMetaHasNoMemory) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_FALSE(none.is_meta());
  EXPECT_EQ(none.nbytes(), 0U);
  const Tensor meta = Tensor::meta(Shape{4, 2}, DType::bf16);
  EXPECT_TRUE(meta.defined());
  EXPECT_TRUE(meta.is_meta());
  EXPECT_EQ(meta.nbytes(), 16U);
  EXPECT_EQ(meta.raw(), nullptr);
  EXPECT_THROW(static_cast<void>(meta.data<BFloat16>()), ArgumentError);
  EXPECT_TRUE(meta.clone().is_meta());
}

TEST(TensorTest, DataChecksTheElementType) {
  const Tensor tensor = Tensor::zeros(Shape{3}, DType::f32);
  EXPECT_EQ(tensor.span<float>().size(), 3U);
  EXPECT_EQ(tensor.data<float>()[2], 0.0F);
  EXPECT_THROW(static_cast<void>(tensor.data<double>()), ArgumentError);
}

TEST(TensorTest, ReshapeAndSliceShareStorage) {
  const Tensor tensor = test::make(Shape{2, 3}, DType::f32, {0, 1, 2, 3, 4, 5});
  EXPECT_FALSE(tensor.shares_storage());
  const Tensor flat = tensor.reshape(Shape{6});
  EXPECT_TRUE(tensor.shares_storage());
  const Tensor tail = flat.slice(2, 4).slice(1, 2);
  EXPECT_EQ(tail.data<float>()[0], 3.0F);
  tail.data<float>()[1] = 40.0F;
  EXPECT_EQ(tensor.data<float>()[4], 40.0F);
  EXPECT_EQ(flat.slice(6, 0).numel(), 0);
  EXPECT_THROW(static_cast<void>(flat.slice(3, 4)), ArgumentError);
  EXPECT_THROW(static_cast<void>(flat.slice(-1, 2)), ArgumentError);
  EXPECT_THROW(static_cast<void>(tensor.reshape(Shape{5})), ArgumentError);
}

TEST(TensorTest, CloneIsDeep) {
  const Tensor tensor = test::make(Shape{2}, DType::f32, {1, 2});
  const Tensor copy = tensor.clone();
  copy.data<float>()[0] = 7.0F;
  EXPECT_EQ(tensor.data<float>()[0], 1.0F);
  EXPECT_EQ(copy.data<float>()[1], 2.0F);
}

TEST(TensorTest, ViewsMustFitTheirStorage) {
  const auto storage = Storage::allocate(16);
  EXPECT_EQ(Tensor::view(storage, 8, Shape{2}, DType::f32).nbytes(), 8U);
  EXPECT_EQ(Tensor::view(storage, 16, Shape{0}, DType::f32).nbytes(), 0U);
  EXPECT_THROW(static_cast<void>(Tensor::view(storage, 12, Shape{2}, DType::f32)), ArgumentError);
  EXPECT_THROW(static_cast<void>(Tensor::view(storage, 17, Shape{0}, DType::f32)), ArgumentError);
  EXPECT_THROW(static_cast<void>(Tensor::view(nullptr, 0, Shape{1}, DType::f32)), ArgumentError);
}

TEST(TensorTest, RankZeroAndEmptyTensorsAreLegal) {
  const Tensor scalar = Tensor::zeros(Shape{}, DType::f64);
  EXPECT_EQ(scalar.numel(), 1);
  const Tensor none = Tensor::zeros(Shape{0, 7}, DType::f64);
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(none.clone().numel(), 0);
  EXPECT_THROW(static_cast<void>(Tensor::empty(Shape{-1}, DType::f32)), ArgumentError);
}

}  // namespace
}  // namespace sherd
