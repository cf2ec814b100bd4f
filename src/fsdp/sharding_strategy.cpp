#include "sherd/fsdp/sharding_strategy.hpp"

#include <fmt/format.h>

#include <string>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

std::string available_names() {
  std::string names;
  for (const StrategyRow& row : kStrategies) {
    if (row.available) {
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
  }
  return names;
}

}  // namespace

ShardingStrategy parse_strategy(std::string_view name) {
  for (const StrategyRow& row : kStrategies) {
    if (row.name != name) {
      continue;
    }
    if (!row.available) {
      throw ConfigError(fmt::format(
          "sharding strategy {} is not in this version (its states are cut over nodes and ranks "
          "separately). Try: {}",
          name, available_names()));
    }
    return row.strategy;
  }
  throw ConfigError(
      fmt::format("sharding strategy '{}' is unknown. Try: {}", name, available_names()));
}

}  // namespace sherd::fsdp
