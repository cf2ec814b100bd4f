#include "io/staging.hpp"

#include <gtest/gtest.h>

#include "io/file_template.hpp"

namespace sherd::io {
namespace {

TEST(StagingPlan, MirrorsTheFileModuloAPage) {
  const std::vector<PlacedDataset> datasets = {{0, 2, {100, 50}, false},
                                               {0, 0, {4096, 5000}, true},
                                               {0, 1, {12288, 8192}, false},
                                               {0, 3, {1 << 20, 1}, false}};
  const StagingPlan plan = plan_staging(datasets);
  ASSERT_EQ(plan.runs.size(), 3U);
  EXPECT_EQ(plan.runs[1].bytes, 12288U + 8192U - 4096U);
  for (const WriteRun& run : plan.runs) {
    EXPECT_EQ(run.stage_offset % 4096, run.file_offset % 4096);
    EXPECT_LE(run.stage_offset + run.bytes, plan.bytes);
  }
  ASSERT_EQ(plan.items.size(), 4U);
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    EXPECT_EQ(plan.items[i].item, i);
  }
  EXPECT_EQ(plan.items[1].stage_offset - plan.items[0].stage_offset, 8192U);
  for (std::size_t i = 1; i < plan.runs.size(); ++i) {
    EXPECT_GE(plan.runs[i].stage_offset, plan.runs[i - 1].stage_offset + plan.runs[i - 1].bytes);
  }
  EXPECT_EQ(plan_staging({}).bytes, 0U);
}

TEST(FileTemplate, GapsAreWhatExtentsLeave) {
  const std::vector<Extent> gaps = gaps_between({{0, 10}, {10, 5}, {20, 4}}, 30);
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].offset, 15U);
  EXPECT_EQ(gaps[0].bytes, 5U);
  EXPECT_EQ(gaps[1].offset, 24U);
  EXPECT_EQ(gaps[1].bytes, 6U);
  EXPECT_TRUE(gaps_between({}, 0).empty());
  EXPECT_EQ(gaps_between({}, 3).front().bytes, 3U);
}

}  // namespace
}  // namespace sherd::io
