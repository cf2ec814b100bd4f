#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/fsdp/sharding_strategy.hpp"

namespace sherd::fsdp {
namespace {

TEST(ShardingStrategy, IsFoundByItsName) {
  for (const StrategyRow& entry : kStrategies) {
    EXPECT_EQ(parse_strategy(entry.name), entry.strategy);
    EXPECT_EQ(row(entry.strategy).name, entry.name);
  }
}

TEST(ShardingStrategy, AnUnknownNameIsAnErrorThatListsAll) {
  try {
    static_cast<void>(parse_strategy("FULL"));
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    for (const StrategyRow& entry : kStrategies) {
      EXPECT_NE(text.find(entry.name), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace sherd::fsdp
