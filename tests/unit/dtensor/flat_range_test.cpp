#include "sherd/dtensor/flat_range.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "sherd/base/error.hpp"

namespace sherd::dtensor {
namespace {

TEST(FlatRange, IntersectionIsCommonElements) {
  EXPECT_EQ(intersect({0, 10}, {4, 3}), (FlatRange{4, 3}));
  EXPECT_EQ(intersect({0, 5}, {3, 10}), (FlatRange{3, 2}));
  EXPECT_EQ(intersect({0, 5}, {5, 10}).numel, 0);
  EXPECT_EQ(intersect({7, 5}, {1, 2}).numel, 0);
  EXPECT_EQ(intersect({3, 0}, {0, 9}).numel, 0);
}

TEST(FlatRange, EvenPartsPartitionAnyRange) {
  for (const std::int64_t numel : {0, 1, 2, 3, 7, 97}) {
    for (const int parts : {1, 2, 3, 5, 8}) {
      std::int64_t at = 11;
      for (int i = 0; i < parts; ++i) {
        const FlatRange part = even_part({11, numel}, parts, i);
        EXPECT_EQ(part.first, at);
        EXPECT_LE(part.numel, numel / parts + 1);
        EXPECT_GE(part.numel, numel / parts);
        at = part.end();
      }
      EXPECT_EQ(at, 11 + numel);
    }
  }
}

TEST(FlatRange, SpecsThatContradictTheirMemoryAreRefused) {
  ShardSpec spec;
  spec.name = "w";
  spec.global_shape = {4, 3};
  spec.offset = 6;
  spec.numel = 6;
  EXPECT_NO_THROW(check_consistent(spec, Tensor::zeros(Shape{6}, DType::f32)));
  EXPECT_THROW(check_consistent(spec, Tensor::zeros(Shape{5}, DType::f32)), ArgumentError);
  EXPECT_THROW(check_consistent(spec, Tensor::zeros(Shape{6}, DType::bf16)), ArgumentError);
  EXPECT_THROW(check_consistent(spec, Tensor()), ArgumentError);
  EXPECT_THROW(check_consistent(spec, Tensor::meta(Shape{6}, DType::f32)), ArgumentError);
  spec.offset = 7;
  EXPECT_THROW(check_consistent(spec, Tensor::zeros(Shape{6}, DType::f32)), ArgumentError);
  spec.offset = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(check_consistent(spec, Tensor::zeros(Shape{6}, DType::f32)), ArgumentError);
  spec.offset = 0;
  spec.placement = Placement::replicated;
  EXPECT_THROW(check_consistent(spec, Tensor::zeros(Shape{6}, DType::f32)), ArgumentError);
  spec.placement = Placement::hybrid;
  EXPECT_NO_THROW(check_consistent(spec, Tensor::zeros(Shape{6}, DType::f32)));
  spec.placement = Placement::sharded;
  spec.numel = 0;
  EXPECT_NO_THROW(check_consistent(spec, Tensor()));
}

}  // namespace
}  // namespace sherd::dtensor
