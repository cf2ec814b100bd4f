#include "sherd/dtensor/block.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sherd/base/error.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/dtensor/shard_spec.hpp"

namespace sherd::dtensor {
namespace {

Block block_at(const Shape& shape, int row, int rows, int column, int columns) {
  const std::array mesh{MeshDim{rows, row, 0}, MeshDim{columns, column, 1}};
  return shard_block(shape, mesh);
}

TEST(ShardBlock, ChunksAreThoseOfTorch) {
  // torch.chunk of 7 elements in 4 gives 2, 2, 2, 1; of 5 in 4 gives 2, 2, 1 and nothing.
  EXPECT_EQ(block_at({7, 5}, 3, 4, 2, 4), (Block{{6, 4}, {1, 1}}));
  EXPECT_EQ(block_at({7, 5}, 0, 4, 3, 4), (Block{{0, 5}, {2, 0}}));
}

TEST(ShardBlock, TwoMeshDimensionsMayCutTheSameTensorDimension) {
  const std::array mesh{MeshDim{2, 1, 0}, MeshDim{3, 2, 0}, MeshDim{2, 1, -1}};
  EXPECT_EQ(shard_block({11, 3}, mesh), (Block{{10, 0}, {1, 3}}));
}

TEST(ShardBlock, RefusesWhatIsNotThere) {
  const std::array outside{MeshDim{2, 2, 0}};
  EXPECT_THROW((void)shard_block({4}, outside), ArgumentError);
  const std::array dimension{MeshDim{2, 0, 1}};
  EXPECT_THROW((void)shard_block({4}, dimension), ArgumentError);
}

TEST(Block, IntersectionIsEmptyWhereBlocksAreApart) {
  const Block a{{0, 2}, {4, 4}};
  EXPECT_EQ(intersect(a, {{3, 0}, {4, 3}}), (Block{{3, 2}, {1, 1}}));
  EXPECT_EQ(intersect(a, {{4, 0}, {1, 6}}).numel(), 0);
  EXPECT_EQ((Block{}).numel(), 1);
}

TEST(Block, MustLieInTheTensorAndAgreeWithTheSpec) {
  ShardSpec spec;
  spec.global_shape = {4, 4};
  spec.numel = 4;
  spec.block = Block{{2, 0}, {1, 4}};
  const Tensor local = Tensor::zeros(Shape{4}, DType::f32);
  EXPECT_NO_THROW(check_consistent(spec, local));
  spec.block->start[1] = 1;
  EXPECT_THROW(check_consistent(spec, local), ArgumentError);
  spec.block = Block{{0}, {4}};
  EXPECT_THROW(check_consistent(spec, local), ArgumentError);
  spec.block = Block{{0, 0}, {1, 3}};
  EXPECT_THROW(check_consistent(spec, local), ArgumentError);
}

}  // namespace
}  // namespace sherd::dtensor
