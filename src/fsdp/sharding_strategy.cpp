#include "sherd/fsdp/sharding_strategy.hpp"

#include <fmt/format.h>

#include <string>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

std::string all_names() {
  std::string names;
  for (const StrategyRow& row : kStrategies) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace

ShardingStrategy parse_strategy(std::string_view name) {
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) {
      return row.strategy;
    }
  }
  throw ConfigError(fmt::format("sharding strategy '{}' is unknown. Try: {}", name, all_names()));
}

}  // namespace sherd::fsdp
