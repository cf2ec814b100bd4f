#include "sherd/fsdp/sharding_strategy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

TEST(ShardingStrategy, ParsesWhatIsThere) {
  EXPECT_EQ(parse_strategy("FULL_SHARD"), ShardingStrategy::full_shard);
  EXPECT_EQ(parse_strategy("SHARD_GRAD_OP"), ShardingStrategy::shard_grad_op);
  EXPECT_EQ(parse_strategy("NO_SHARD"), ShardingStrategy::no_shard);
}

TEST(ShardingStrategy, RowsStandInTheOrderOfTheirNames) {
  for (const StrategyRow& entry : kStrategies) {
    EXPECT_EQ(row(entry.strategy).name, entry.name);
  }
}

void expect_error(const char* name, const char* text) {
  try {
    static_cast<void>(parse_strategy(name));
    FAIL() << "no error for " << name;
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
    EXPECT_THAT(error.what(), testing::HasSubstr("Try: NO_SHARD, SHARD_GRAD_OP, FULL_SHARD"));
  }
}

TEST(ShardingStrategy, RefusesWhatIsNotThereAndSaysWhatIs) {
  expect_error("HYBRID_SHARD", "is not in this version");
  expect_error("ZERO_3", "is unknown");
}

}  // namespace
}  // namespace sherd::fsdp
