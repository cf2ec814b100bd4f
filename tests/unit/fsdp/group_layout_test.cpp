#include "sherd/fsdp/group_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

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

using Entries = std::vector<GroupLayout::Entry>;

/// Elements of an entry that must stay together.
std::int64_t unit_of(const GroupLayout::Entry& entry) {
  const std::int64_t numel = entry.shape.numel();
  if (entry.unit == ShardUnit::element) {
    return 1;
  }
  return entry.unit == ShardUnit::tensor || entry.shape.rank() < 2 ? numel : entry.shape[-1];
}

/// Whether boundaries at multiples of `piece` leave the entry's units whole when it starts there.
bool is_whole(const GroupLayout::Entry& entry, std::int64_t start, std::int64_t piece) {
  const std::int64_t end = start + entry.shape.numel();
  for (std::int64_t boundary = start / piece * piece + piece; boundary < end; boundary += piece) {
    if ((boundary - start) % unit_of(entry) != 0) {
      return false;
    }
  }
  return true;
}

void expect_sound(const Entries& entries, const GroupLayout& layout, std::int64_t alignment) {
  const std::int64_t piece = layout.piece_numel();
  EXPECT_EQ(piece % alignment, 0);
  ASSERT_EQ(layout.slots().size(), entries.size());
  std::int64_t end = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ParameterSlot& slot = layout.slots()[i];
    ASSERT_EQ(slot.shape, entries[i].shape);
    ASSERT_EQ(slot.numel, entries[i].shape.numel());
    ASSERT_GE(slot.offset, end) << "parameter " << i << " lies over the one before";
    if (slot.numel > 0) {
      ASSERT_TRUE(is_whole(entries[i], slot.offset, piece)) << "parameter " << i << " is cut";
    }
    if (slot.offset % alignment != 0) {
      ASSERT_NE(unit_of(entries[i]) % alignment, 0) << "parameter " << i;
      for (std::int64_t start = end; start <= (end / piece + 1) * piece; ++start) {
        ASSERT_FALSE(start % alignment == 0 && is_whole(entries[i], start, piece))
            << "parameter " << i << " could start aligned at " << start;
      }
    }
    end = slot.offset + slot.numel;
  }
  ASSERT_LE(end, layout.buffer_numel());
}

Entries random_entries(std::mt19937& engine) {
  const auto any = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  Entries entries;
  for (std::int64_t i = any(1, 7); i > 0; --i) {
    std::vector<std::int64_t> extents;
    for (std::int64_t rank = any(0, 3); rank > 0; --rank) {
      extents.push_back(any(0, 19) == 0 ? 0 : any(1, 2) == 1 ? any(1, 12) : 8 * any(1, 4));
    }
    entries.push_back({"p", Shape(extents), static_cast<ShardUnit>(any(0, 2))});
  }
  return entries;
}

TEST(GroupLayoutUnits, NoUnitIsEverCut) {
  std::mt19937 engine(7);
  double padding = 0;
  double parameters = 0;
  for (int round = 0; round < 4000; ++round) {
    const Entries entries = random_entries(engine);
    const int pieces = 1 + round % 9;
    const std::int64_t alignment = round % 2 == 0 ? 16 : round % 7 + 1;
    const GroupLayout layout(entries, pieces, alignment);
    expect_sound(entries, layout, alignment);
    if (HasFatalFailure()) {
      FAIL() << "round " << round << ": " << pieces << " pieces, alignment " << alignment;
    }
    padding += static_cast<double>(layout.buffer_numel() - layout.parameter_numel());
    parameters += static_cast<double>(layout.parameter_numel());
  }
  RecordProperty("padding_percent", std::to_string(100.0 * padding / parameters));
}

TEST(GroupLayoutUnits, ElementsAreCutAsIfThereWereNoUnits) {
  std::mt19937 engine(8);
  for (int round = 0; round < 200; ++round) {
    Entries entries = random_entries(engine);
    std::int64_t end = 0;
    for (GroupLayout::Entry& entry : entries) {
      entry.unit = ShardUnit::element;
    }
    const GroupLayout layout(entries, 1 + round % 5, 16);
    for (const ParameterSlot& slot : layout.slots()) {
      EXPECT_EQ(slot.offset, (end + 15) / 16 * 16);
      end = slot.offset + slot.numel;
    }
    EXPECT_LT(layout.piece_numel() - end / layout.pieces(), 17);
  }
}

TEST(GroupLayoutUnits, MatricesAreCutBetweenRowsWithoutPadding) {
  const Entries three(3, {"w", {1000, 64}, ShardUnit::row});
  EXPECT_EQ(GroupLayout(three, 2, 16).buffer_numel(), 3 * 64000);
  EXPECT_EQ(GroupLayout(three, 3, 16).buffer_numel(), 3 * 64000);
  EXPECT_EQ(GroupLayout(three, 24, 16).buffer_numel(), 3 * 64000);
  // 46.875 rows a piece: 47 it is.
  EXPECT_EQ(GroupLayout(three, 64, 16).piece_numel(), 47 * 64);
}

// Rows of 336 and of 880 elements: no piece size near a third of all falls on row ends of both, but
// gaps below a row do.
TEST(GroupLayoutUnits, GapsBelowARowComeBeforeLargerPieces) {
  Entries entries;
  for (int i = 0; i < 2; ++i) {
    entries.push_back({"a", {100, 336}, ShardUnit::row});
    entries.push_back({"b", {40, 880}, ShardUnit::row});
  }
  const GroupLayout layout(entries, 3, 16);
  expect_sound(entries, layout, 16);
  EXPECT_LE(layout.buffer_numel() - layout.parameter_numel(), 2 * 880);
}

TEST(GroupLayoutUnits, WholeTensorsArePackedAsTightlyAsTheirOrderAllows) {
  const auto whole = [](std::int64_t numel) {
    return GroupLayout::Entry{"t", {numel}, ShardUnit::tensor};
  };
  const GroupLayout layout({whole(48), whole(32), whole(16), whole(64)}, 3, 16);
  EXPECT_EQ(layout.piece_numel(), 64);
  EXPECT_EQ(layout.slots()[1].offset, 64);
  EXPECT_EQ(layout.slots()[3].offset, 128);
  EXPECT_EQ(GroupLayout({whole(100)}, 4, 16).piece_numel(), 112);
}

TEST(GroupLayoutUnits, VectorsAndScalarsAreOneRow) {
  const Entries entries{{"w", {40}}, {"v", {30}, ShardUnit::row}, {"s", {}, ShardUnit::row}};
  const GroupLayout layout(entries, 2, 16);
  EXPECT_EQ(layout.piece_numel(), 48);
  EXPECT_EQ(layout.slots()[1].offset, 48);
}

// A block of a 70-billion model by rows over 512 ranks: found at once, with little padding.
TEST(GroupLayoutUnits, LargeBlocksHaveLittlePadding) {
  Entries entries;
  for (const Shape& shape :
       {Shape{8192}, Shape{8192, 8192}, Shape{1024, 8192}, Shape{1024, 8192}, Shape{8192, 8192},
        Shape{8192}, Shape{28672, 8192}, Shape{28672, 8192}, Shape{8192, 28672}}) {
    entries.push_back({"w", shape, ShardUnit::row});
  }
  for (const int pieces : {1, 8, 64, 512}) {
    const GroupLayout layout(entries, pieces, 16);
    expect_sound(entries, layout, 16);
    EXPECT_LT(layout.buffer_numel(), layout.parameter_numel() * 11 / 10) << pieces;
  }
}

TEST(GroupLayout, RefusesNonsense) {
  EXPECT_THROW(GroupLayout({{"a", {1}}}, 0, 16), ArgumentError);
  EXPECT_THROW(GroupLayout({{"a", {1}}}, 1, 0), ArgumentError);
}

}  // namespace
}  // namespace sherd::fsdp
