// The one-rank run is the oracle: every strategy on every number of ranks, in shared and in
// separate memory, must give its losses, gradient norms and weights.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "f64_policy.hpp"
#include "sherd/base/error.hpp"
#include "support/full_product.hpp"
#include "support/sanitizer.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Grid;
using testing::Memory;
using testing::OddResult;
using testing::OddRun;
using testing::train_odd;

void expect_close(double actual, double expected, double tolerance, const std::string& what) {
  EXPECT_LE(std::abs(actual - expected), tolerance * (1.0 + std::abs(expected))) << what;
}

void expect_same(const OddResult& actual, const OddResult& oracle, double tolerance) {
  ASSERT_EQ(actual.loss.size(), oracle.loss.size());
  for (std::size_t step = 0; step < oracle.loss.size(); ++step) {
    expect_close(actual.loss[step], oracle.loss[step], tolerance, "loss");
    expect_close(actual.norm[step], oracle.norm[step], tolerance, "norm");
  }
  ASSERT_EQ(actual.parameters.size(), oracle.parameters.size());
  for (const auto& [name, values] : oracle.parameters) {
    ASSERT_EQ(actual.parameters.at(name).size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      expect_close(actual.parameters.at(name)[i], values[i], tolerance, name);
    }
  }
}

OddRun run_of(const Grid& grid, Memory memory, ShardingStrategy strategy) {
  OddRun run;
  run.grid = grid;
  run.memory = memory;
  run.sharding.strategy = strategy;
  run.sharding.mixed_precision = kF64;
  return run;
}

OddRun unsharded(OddRun run) {
  run.grid = {};
  run.memory = Memory::shared;
  run.micro_batches = 1;
  run.sharding.strategy = ShardingStrategy::no_shard;
  run.sharding.accumulation = Accumulation::reduce_each;
  run.sharding.reshard_after_forward = ReshardAfterForward::by_strategy;
  run.sharding.reshard_after_backward = true;
  return run;
}

/// What the values of an unsharded run depend on.
std::string key_of(const OddRun& run) {
  return fmt::format("{} {} {} {} {}", run.momentum, run.steps, run.model.freeze,
                     fmt::join(run.orders, ";"),
                     to_string(run.sharding.mixed_precision.param_dtype));
}

/// The unsharded result of the same training, computed once for all strategies and grids.
const OddResult& oracle_of(const OddRun& run) {
  static std::map<std::string, OddResult> known;
  const auto [at, fresh] = known.try_emplace(key_of(run));
  if (fresh) {
    at->second = train_odd(unsharded(run));
  }
  return at->second;
}

using Case = std::tuple<Grid, Memory, ShardingStrategy>;

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const auto& [grid, memory, strategy] = info.param;
  return std::string(row(strategy).name) + "_" + std::to_string(grid.nodes) + "x" +
         std::to_string(grid.local_size) + (memory == Memory::shared ? "_shared" : "_separate");
}

struct GridCase {
  Grid grid;
  Memory memory;
};

/// Grids (nodes x ranks) that differ in kind: alone, one node, several nodes with and without
/// memory that the ranks of a node share.
const std::vector<GridCase> kEveryStrategy = {{{1, 1}, Memory::shared},
                                              {{1, 3}, Memory::shared},
                                              {{2, 3}, Memory::shared},
                                              {{2, 2}, Memory::separate}};
/// More sizes of the same kinds: two strategies each, in turn, unless the full product is asked
/// for.
const std::vector<GridCase> kInTurn = {{{1, 2}, Memory::shared},   {{1, 5}, Memory::shared},
                                       {{2, 1}, Memory::shared},   {{2, 2}, Memory::shared},
                                       {{3, 2}, Memory::shared},   {{4, 2}, Memory::shared},
                                       {{1, 4}, Memory::separate}, {{3, 1}, Memory::separate}};

std::vector<Case> cases() {
  std::vector<Case> all;
  const std::size_t strategies = std::size(kStrategies);
  for (std::size_t s = 0; s < strategies; ++s) {
    const ShardingStrategy strategy = kStrategies[s].strategy;
    if (testing::kSanitized) {
      all.emplace_back(Grid{2, 2}, Memory::shared, strategy);
      all.emplace_back(Grid{2, 2}, Memory::separate, strategy);
      continue;
    }
    for (const GridCase& one : kEveryStrategy) {
      all.emplace_back(one.grid, one.memory, strategy);
    }
    for (std::size_t g = 0; g < kInTurn.size(); ++g) {
      if (testing::full_product() || g % (strategies / 2) == s % (strategies / 2)) {
        all.emplace_back(kInTurn[g].grid, kInTurn[g].memory, strategy);
      }
    }
  }
  return all;
}

class ShardedEqualsUnsharded : public ::testing::TestWithParam<Case> {
 protected:
  OddRun run() const {
    const auto& [grid, memory, strategy] = GetParam();
    return run_of(grid, memory, strategy);
  }
};

TEST_P(ShardedEqualsUnsharded, AdamW) { expect_same(train_odd(run()), oracle_of(run()), 1e-12); }

TEST_P(ShardedEqualsUnsharded, SgdWithMomentum) {
  OddRun sgd = run();
  sgd.momentum = 0.9;
  expect_same(train_odd(sgd), oracle_of(sgd), 1e-12);
}

TEST_P(ShardedEqualsUnsharded, MicroBatches) {
  OddRun micro = run();
  micro.micro_batches = 3;
  expect_same(train_odd(micro), oracle_of(micro), 1e-12);
}

TEST_P(ShardedEqualsUnsharded, EveryWayToAccumulate) {
  for (const Accumulation mode : {Accumulation::defer_all_reduce, Accumulation::no_sync}) {
    OddRun micro = run();
    micro.micro_batches = 3;
    micro.steps = 3;
    micro.sharding.accumulation = mode;
    if (mode == Accumulation::defer_all_reduce &&
        row(micro.sharding.strategy).gradients == Level::whole) {
      EXPECT_THROW(static_cast<void>(train_odd(micro)), ConfigError);
      continue;
    }
    expect_same(train_odd(micro), oracle_of(micro), 1e-12);
  }
}

TEST_P(ShardedEqualsUnsharded, EveryWayToGiveBack) {
  for (const ReshardAfterForward reshard :
       {ReshardAfterForward::always, ReshardAfterForward::never, ReshardAfterForward::node}) {
    OddRun micro = run();
    micro.micro_batches = 2;
    micro.steps = 2;
    micro.sharding.reshard_after_forward = reshard;
    micro.sharding.reshard_after_backward = reshard != ReshardAfterForward::never;
    expect_same(train_odd(micro), oracle_of(micro), 1e-12);
  }
}

TEST_P(ShardedEqualsUnsharded, FrozenParameters) {
  OddRun frozen = run();
  frozen.model.freeze = true;
  const OddResult result = train_odd(frozen);
  expect_same(result, oracle_of(frozen), 1e-12);
  OddRun none = frozen;
  none.steps = 0;
  const OddResult start = train_odd(none);
  const std::string key = "model.blocks.1.first.weight";
  EXPECT_EQ(result.parameters.at(key), start.parameters.at(key));
}

TEST_P(ShardedEqualsUnsharded, ReusedSkippedAndReorderedBlocks) {
  OddRun changing = run();
  changing.orders = {{0, 1, 2}, {2, 0, 1}, {1, 1, 0}, {0, 2, 0}};
  expect_same(train_odd(changing), oracle_of(changing), 1e-12);
}

TEST_P(ShardedEqualsUnsharded, CheckpointedBlocksReusedAndReordered) {
  for (const auto mode : {autograd::Recompute::reentrant, autograd::Recompute::non_reentrant}) {
    OddRun checkpointed = run();
    checkpointed.model.recompute = mode;
    checkpointed.orders = {{0, 1, 2}, {1, 1, 0}};
    checkpointed.steps = 2;
    OddRun oracle = checkpointed;
    oracle.model.recompute = std::nullopt;
    expect_same(train_odd(checkpointed), oracle_of(oracle), 1e-12);
  }
}

TEST_P(ShardedEqualsUnsharded, AnyPrefetchDepth) {
  for (const int depth : {0, 2, 5}) {
    OddRun deep = run();
    deep.sharding.prefetch_depth = depth;
    deep.steps = 2;
    expect_same(train_odd(deep), oracle_of(deep), 1e-12);
  }
}

TEST_P(ShardedEqualsUnsharded, SameBitsTwice) {
  const OddResult first = train_odd(run());
  const OddResult second = train_odd(run());
  EXPECT_EQ(first.loss, second.loss);
  EXPECT_EQ(first.norm, second.norm);
  EXPECT_EQ(first.parameters, second.parameters);
}

TEST_P(ShardedEqualsUnsharded, Bf16ComputeStaysNearF32) {
  OddRun low = run();
  low.sharding.mixed_precision = {.param_dtype = DType::bf16, .master_dtype = DType::f32};
  // Same arithmetic up to the order of sums over ranks; bf16 keeps 8 bits.
  expect_same(train_odd(low), oracle_of(low), 2e-2);
}

INSTANTIATE_TEST_SUITE_P(All, ShardedEqualsUnsharded, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace sherd::fsdp
