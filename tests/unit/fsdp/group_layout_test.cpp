#include "sherd/fsdp/group_layout.hpp"

#include <gtest/gtest.h>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

TEST(GroupLayout, PutsParametersOneAfterTheOtherAligned) {
  const GroupLayout layout({{"a", {3, 5}}, {"b", {16}}, {"c", {1}}}, 2, 16);
  ASSERT_EQ(layout.slots().size(), 3U);
  EXPECT_EQ(layout.slots()[0].offset, 0);
  EXPECT_EQ(layout.slots()[1].offset, 16);
  EXPECT_EQ(layout.slots()[2].offset, 32);
  EXPECT_EQ(layout.parameter_numel(), 32);
  EXPECT_EQ(layout.piece_numel(), 32);
  EXPECT_EQ(layout.buffer_numel(), 64);
}

TEST(GroupLayout, PaddingStaysBelowOnePieceUnitARank) {
  for (int pieces = 1; pieces <= 9; ++pieces) {
    for (const std::int64_t numel : {1, 7, 16, 17, 50257, 50257 * 3}) {
      const GroupLayout layout({{"w", {numel}}}, pieces, 16);
      EXPECT_LT(layout.buffer_numel() - numel, 16 * pieces);
      EXPECT_EQ(layout.piece_numel() % 16, 0);
    }
  }
}

TEST(GroupLayout, TakesScalarsAndEmptyParameters) {
  const GroupLayout layout({{"scalar", {}}, {"empty", {0, 4}}, {"w", {5}}}, 4, 16);
  EXPECT_EQ(layout.slots()[0].numel, 1);
  EXPECT_EQ(layout.slots()[1].numel, 0);
  EXPECT_EQ(layout.slots()[2].offset, 16);
  EXPECT_EQ(layout.piece_numel(), 16);
}

// Every element of every parameter lies in exactly one piece, at the place its offset says.
TEST(GroupLayout, PiecesCoverEveryElementOnce) {
  const std::vector<GroupLayout::Entry> entries{{"a", {9, 3}}, {"b", {}}, {"c", {7}}, {"d", {50}}};
  for (int pieces = 1; pieces <= 8; ++pieces) {
    const GroupLayout layout(entries, pieces, 4);
    std::vector<std::vector<int>> seen;
    for (const ParameterSlot& slot : layout.slots()) {
      seen.emplace_back(static_cast<std::size_t>(slot.numel), 0);
    }
    for (int piece = 0; piece < pieces; ++piece) {
      for (const SlotOverlap& part : layout.piece_overlaps(piece)) {
        const ParameterSlot& slot = layout.slots()[part.slot];
        EXPECT_EQ(slot.offset + part.parameter_begin,
                  piece * layout.piece_numel() + part.piece_begin);
        for (std::int64_t i = 0; i < part.count; ++i) {
          ++seen[part.slot][static_cast<std::size_t>(part.parameter_begin + i)];
        }
      }
    }
    for (const auto& counts : seen) {
      for (const int count : counts) {
        EXPECT_EQ(count, 1);
      }
    }
  }
}

TEST(GroupLayout, RefusesNonsense) {
  EXPECT_THROW(GroupLayout({{"a", {1}}}, 0, 16), ArgumentError);
  EXPECT_THROW(GroupLayout({{"a", {1}}}, 1, 0), ArgumentError);
}

}  // namespace
}  // namespace sherd::fsdp
