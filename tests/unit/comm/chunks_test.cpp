#include "comm/shared/chunks.hpp"

#include <gtest/gtest.h>

namespace sherd {
namespace {

TEST(EvenParts, CoverEverythingOnceInWholeLines) {
  for (const std::size_t width : {1U, 2U, 4U, 8U}) {
    for (const std::size_t count : {0U, 1U, 5U, 63U, 64U, 1000U, 262144U}) {
      for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
        const comm::EvenParts parts(count, ranks, width);
        std::size_t covered = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          EXPECT_EQ(parts.begin(rank), covered);
          EXPECT_TRUE(parts.begin(rank) == count || parts.begin(rank) * width % 64 == 0);
          covered += parts.size(rank);
        }
        EXPECT_EQ(covered, count) << count << " over " << ranks;
      }
    }
  }
}

TEST(ElementsInLines, IsAtLeastOneLine) {
  EXPECT_EQ(comm::elements_in_lines(0, 4), 16U);
  EXPECT_EQ(comm::elements_in_lines(1000, 4), 240U);
}

}  // namespace
}  // namespace sherd
