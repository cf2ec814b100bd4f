#include "io/layout/hyperslab.hpp"

#include <gtest/gtest.h>

namespace sherd::io {
namespace {

/// Row-major positions of a box's elements.
void add_elements(const std::vector<std::int64_t>& extents, const Box& box, std::size_t dim,
                  std::int64_t base, std::vector<std::int64_t>& out) {
  if (dim == extents.size()) {
    out.push_back(base);
    return;
  }
  for (std::int64_t i = 0; i < box.count[dim]; ++i) {
    add_elements(extents, box, dim + 1, base * extents[dim] + box.start[dim] + i, out);
  }
}

TEST(Hyperslab, BoxesOfEveryRangeListItsElementsInOrder) {
  const std::vector<std::vector<std::int64_t>> shapes = {{1},    {7},       {4, 5},      {1, 6},
                                                         {6, 1}, {3, 2, 4}, {2, 1, 3, 2}};
  for (const auto& extents : shapes) {
    std::int64_t total = 1;
    for (const std::int64_t extent : extents) {
      total *= extent;
    }
    for (std::int64_t first = 0; first <= total; ++first) {
      for (std::int64_t numel = 0; first + numel <= total; ++numel) {
        std::vector<std::int64_t> elements;
        const std::vector<Box> boxes = boxes_of(extents, {first, numel});
        for (const Box& box : boxes) {
          add_elements(extents, box, 0, 0, elements);
        }
        ASSERT_EQ(static_cast<std::int64_t>(elements.size()), numel);
        for (std::int64_t i = 0; i < numel; ++i) {
          ASSERT_EQ(elements[static_cast<std::size_t>(i)], first + i);
        }
        EXPECT_LE(boxes.size(), 2 * extents.size() - 1);
      }
    }
  }
}

TEST(Hyperslab, WholeRowsAreOneBox) {
  EXPECT_EQ(boxes_of(std::vector<std::int64_t>{8, 16}, {32, 64}).size(), 1U);
}

}  // namespace
}  // namespace sherd::io
