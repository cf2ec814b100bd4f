#include "sherd/mesh/device_mesh.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

using mesh::DeviceMesh;
using mesh::MeshCoord;

TEST(DeviceMesh, PiecesAreNumberedLocalMajor) {
  const DeviceMesh grid(2, 3);  // ranks 0 1 2 | 3 4 5
  EXPECT_EQ(grid.size(), 6);
  std::vector<int> pieces;
  for (int rank = 0; rank < 6; ++rank) {
    pieces.push_back(grid.piece(rank));
  }
  EXPECT_EQ(pieces, (std::vector<int>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(grid.coord(4), (MeshCoord{1, 1}));
}

TEST(DeviceMesh, EveryMapIsTheInverseOfTheOther) {
  for (int nodes = 1; nodes <= 4; ++nodes) {
    for (int local = 1; local <= 5; ++local) {
      const DeviceMesh grid(nodes, local);
      for (int rank = 0; rank < grid.size(); ++rank) {
        EXPECT_EQ(grid.owner(grid.piece(rank)), rank);
        EXPECT_EQ(grid.rank(grid.coord(rank)), rank);
      }
    }
  }
}

TEST(DeviceMesh, ABlockOfPiecesIsOneLocalIndexOnAllNodes) {
  const DeviceMesh grid(3, 2);
  for (int local = 0; local < 2; ++local) {
    for (int node = 0; node < 3; ++node) {
      EXPECT_EQ(grid.coord(grid.owner(local * 3 + node)), (MeshCoord{node, local}));
    }
  }
}

TEST(DeviceMesh, RanksMayBeDealtRoundTheNodes) {
  const DeviceMesh grid(std::vector<int>{0, 1, 0, 1});
  EXPECT_EQ(grid.coord(2), (MeshCoord{0, 1}));
  EXPECT_EQ(grid.coord(1), (MeshCoord{1, 0}));
  EXPECT_EQ(grid.piece(2), 2);
  EXPECT_EQ(grid.piece(1), 1);
  EXPECT_EQ(grid.rank({1, 1}), 3);
}

TEST(DeviceMesh, UnequalNodesAreRefused) {
  try {
    const DeviceMesh grid(std::vector<int>{0, 0, 1});
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("node 0 has 2 ranks and node 1 has 1"));
    EXPECT_THAT(error.what(), testing::HasSubstr("Try: "));
  }
}

TEST(DeviceMesh, ANodeWithoutRanksIsRefused) {
  EXPECT_THROW(DeviceMesh(std::vector<int>{0, 2}), ConfigError);
}

TEST(DeviceMesh, NonsenseIsRefused) {
  EXPECT_THROW(DeviceMesh(0, 1), ArgumentError);
  EXPECT_THROW(DeviceMesh(1, -1), ArgumentError);
  EXPECT_THROW(DeviceMesh(std::vector<int>{}), ArgumentError);
  EXPECT_THROW(DeviceMesh(std::vector<int>{0, -1}), ArgumentError);
  EXPECT_THROW(static_cast<void>(DeviceMesh(1, 2).coord(2)), std::out_of_range);
}

}  // namespace
}  // namespace sherd
