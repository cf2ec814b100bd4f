#include "io/layout/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sherd::io {
namespace {

using dtensor::Block;
using dtensor::FlatRange;
using Extents = std::vector<std::int64_t>;

std::int64_t numel_of(const Extents& extents) { return Block{{}, extents}.numel(); }

/// Flat positions in the tensor of a region's elements, one by one: what the arithmetic replaces.
std::vector<std::int64_t> elements_of(const Extents& extents, const Region& region) {
  std::vector<std::int64_t> elements;
  for (std::int64_t at = 0; at < numel_of(extents); ++at) {
    bool inside = !region.block && at >= region.flat.first && at < region.flat.end();
    if (region.block) {
      std::int64_t rest = at;
      inside = true;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
        const std::int64_t index = rest % extents[d] - region.block->start[d];
        inside = inside && index >= 0 && index < region.block->count[d];
      }
    }
    if (inside) {
      elements.push_back(at);
    }
  }
  return elements;
}

void expect_right(const Extents& extents, const Region& from, FlatRange part, const Region& to) {
  const auto stored = elements_of(extents, from);
  const auto wanted = elements_of(extents, to);
  std::vector<std::int64_t> filled(wanted.size(), -1);
  std::int64_t end = part.first;
  const std::vector<CopyRun> runs = copy_runs(extents, from, part, to);
  for (const CopyRun& run : runs) {
    EXPECT_GT(run.numel, 0);
    EXPECT_GE(run.from, end) << "not in order";
    end = run.from + run.numel;
    EXPECT_LE(end, part.end());
    for (std::int64_t i = 0; i < run.numel; ++i) {
      filled.at(static_cast<std::size_t>(run.to + i)) =
          stored.at(static_cast<std::size_t>(run.from + i));
    }
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_FALSE(runs[i - 1].from + runs[i - 1].numel == runs[i].from &&
                 runs[i - 1].to + runs[i - 1].numel == runs[i].to)
        << "could be joined";
  }
  const auto first = stored.begin() + part.first;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool there = std::binary_search(first, first + part.numel, wanted[i]);
    ASSERT_EQ(filled[i], there ? wanted[i] : -1);
  }
  EXPECT_EQ(share_elements(extents, from, part, to), !runs.empty());
}

/// Flat ranges and blocks of every kind: all, none, single elements, rows, columns, inner boxes.
std::vector<Region> regions_of(const Extents& extents) {
  const std::int64_t total = numel_of(extents);
  std::vector<Region> regions;
  for (const std::int64_t first : {std::int64_t{0}, total / 3, total / 2}) {
    for (const std::int64_t numel : {std::int64_t{0}, std::int64_t{1}, total / 2, total - first}) {
      regions.push_back({{first, std::min(numel, total - first)}});
    }
  }
  const std::size_t dims = extents.size();
  regions.push_back({{}, Block{Extents(dims, 0), extents}});
  for (std::size_t d = 0; d < dims; ++d) {
    Block half{Extents(dims, 0), extents};
    half.count[d] = extents[d] / 2;
    regions.push_back({{}, half});
    half.start[d] = extents[d] / 2;
    half.count[d] = extents[d] - half.start[d];
    regions.push_back({{}, half});
    for (std::size_t e = 0; e < d; ++e) {
      Block corner = half;
      corner.start[e] = 1;
      corner.count[e] = extents[e] - 1;
      regions.push_back({{}, corner});
    }
  }
  return regions;
}

TEST(Region, EveryPairCopiesWhatItSharesAndNothingElse) {
  for (const Extents& extents : {Extents{7}, Extents{5, 4}, Extents{1, 6}, Extents{3, 4, 5},
                                 Extents{4, 1, 3}, Extents{2, 3, 2, 3}}) {
    for (const Region& from : regions_of(extents)) {
      for (const Region& to : regions_of(extents)) {
        const std::int64_t half = from.numel() / 2;
        for (const FlatRange part :
             {FlatRange{0, from.numel()}, FlatRange{half, from.numel() - half},
              FlatRange{half / 2, half}}) {
          expect_right(extents, from, part, to);
        }
      }
    }
  }
}

TEST(Region, ScalarsAndEmptyTensors) {
  const Region flat{{0, 1}};
  const Region block{{}, Block{}};
  for (const Region& from : {flat, block}) {
    for (const Region& to : {flat, block}) {
      EXPECT_EQ(copy_runs({}, from, {0, 1}, to), (std::vector<CopyRun>{{0, 0, 1}}));
    }
  }
  const Extents none{0, 7};
  const Region empty{{}, Block{{0, 0}, {0, 7}}};
  EXPECT_TRUE(copy_runs(none, empty, {0, 0}, Region{{0, 0}}).empty());
  EXPECT_TRUE(copy_runs(none, Region{{0, 0}}, {0, 0}, empty).empty());
  EXPECT_FALSE(share_elements(none, empty, {0, 0}, empty));
}

TEST(Region, ALargeArrayCutOtherwiseCostsOneRunARow) {
  const Extents cube{512, 512, 512};
  const Region slab{{}, Block{{0, 0, 0}, {256, 512, 512}}};
  const Region pencil{{}, Block{{0, 128, 0}, {512, 128, 512}}};
  EXPECT_EQ(copy_runs(cube, slab, {0, slab.numel()}, pencil).size(), 256U);
  const Region column{{}, Block{{0, 0, 256}, {512, 512, 256}}};
  EXPECT_EQ(copy_runs(cube, slab, {0, slab.numel()}, column).size(), 256U * 512U);
  const Region flat{{1000, 512 * 512}};
  EXPECT_EQ(copy_runs(cube, slab, {0, slab.numel()}, flat),
            (std::vector<CopyRun>{{1000, 0, 512 * 512}}));
}

}  // namespace
}  // namespace sherd::io
