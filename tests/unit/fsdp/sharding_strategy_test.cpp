#include <gtest/gtest.h>

#include <array>

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

constexpr StrategyRow made_of(Level parameters, bool keep, Level gradients, Level optimizer) {
  return {ShardingStrategy::no_shard, "made up", parameters, keep, gradients, optimizer};
}

TEST(ShardingStrategy, GradientsCutOtherwiseThanOptimizerStateAreNotSupported) {
  // What other systems call ZeRO-1: optimizer state alone is cut.
  static_assert(!is_supported_row(made_of(Level::whole, true, Level::whole, Level::world)));
  static_assert(!is_supported_row(made_of(Level::world, false, Level::whole, Level::world)));
  static_assert(!is_supported_row(made_of(Level::node, true, Level::node, Level::world)));
  static_assert(!is_supported_row(made_of(Level::world, true, Level::world, Level::node)));
}

TEST(ShardingStrategy, ParametersThatWouldLieOtherwiseThanARowSaysAreNotSupported) {
  static_assert(!is_supported_row(made_of(Level::whole, true, Level::world, Level::world)));
  static_assert(!is_supported_row(made_of(Level::whole, true, Level::node, Level::node)));
  static_assert(!is_supported_row(made_of(Level::node, false, Level::whole, Level::whole)));
  static_assert(!is_supported_row(made_of(Level::world, false, Level::node, Level::node)));
  static_assert(!is_supported_row(made_of(Level::whole, false, Level::whole, Level::whole)));
}

TEST(ShardingStrategy, WhatTheEngineDoesIsSupported) {
  static_assert(is_supported_row(made_of(Level::whole, true, Level::whole, Level::whole)));
  for (const bool keep : {false, true}) {
    for (const Level optimizer : {Level::node, Level::world}) {
      EXPECT_TRUE(is_supported_row(made_of(optimizer, keep, optimizer, optimizer)));
      EXPECT_TRUE(is_supported_row(made_of(Level::node, keep, optimizer, optimizer)));
    }
  }
}

TEST(ShardingStrategy, RowsStandInTheOrderOfTheirNumbers) {
  const std::array swapped{kStrategies[1], kStrategies[0]};
  EXPECT_TRUE(are_supported_rows(kStrategies));
  EXPECT_FALSE(are_supported_rows(swapped));
}

}  // namespace
}  // namespace sherd::fsdp
