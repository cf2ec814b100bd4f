// Memory, gathers and errors of the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "sherd/autograd/function.hpp"
#include "sherd/base/error.hpp"
#include "support/sanitizer.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Grid;
using testing::Memory;
using testing::mesh_of;
using testing::OddModel;
using testing::OddRun;

FullyShardOptions planned_options(ShardingStrategy strategy, DType compute = DType::f32) {
  FullyShardOptions options;
  options.strategy = strategy;
  options.mixed_precision.param_dtype = compute;
  return options;
}

/// Every way an engine's memory and traffic can be laid out.
std::vector<FullyShardOptions> all_layouts() {
  std::vector<FullyShardOptions> all;
  for (const StrategyRow& strategy : kStrategies) {
    for (const DType compute : {DType::f32, DType::bf16}) {
      for (const ReshardAfterForward reshard :
           {ReshardAfterForward::by_strategy, ReshardAfterForward::node}) {
        for (const Accumulation accumulation :
             {Accumulation::reduce_each, Accumulation::defer_all_reduce, Accumulation::no_sync}) {
          FullyShardOptions options = planned_options(strategy.strategy, compute);
          options.reshard_after_forward = reshard;
          options.accumulation = accumulation;
          if (accumulation != Accumulation::defer_all_reduce ||
              strategy.gradients != Level::whole) {
            all.push_back(std::move(options));
          }
        }
      }
    }
  }
  return all;
}

std::vector<Grid> grids(const std::vector<Grid>& all) {
  return testing::kSanitized ? std::vector<Grid>{{2, 2}} : all;
}

void compare_with_plan(const Grid& grid, Memory memory, const FullyShardOptions& options) {
  constexpr int kMicroBatches = 2;
  testing::run_grid(grid, memory, [&](comm::MeshComms& comms) {
    OddRun run;
    run.grid = grid;
    run.micro_batches = kMicroBatches;
    run.sharding = options;
    run.model.freeze = true;
    const auto net = std::make_shared<OddModel>(run.model);
    const ShardingPlan plan = plan_sharding(*net, options,
                                            {.nodes = grid.nodes,
                                             .local_size = grid.local_size,
                                             .shared_memory = memory == Memory::shared,
                                             .optimizer_slots = 2,
                                             .micro_batches = kMicroBatches});
    ShardedModel model = fully_shard(net, comms, options);
    optim::AdamW optimizer(model.parameters());
    const std::string what = std::string(row(options.strategy).name) + " on " +
                             std::to_string(grid.nodes) + "x" + std::to_string(grid.local_size);
    for (int step = 0; step < 2; ++step) {
      MemoryReport measured = model.memory();
      measured.optimizer_state = optimizer.state_bytes();
      EXPECT_EQ(measured, plan.memory) << what;
      const TrafficReport before = model.traffic();
      testing::odd_step(run, model, step, comms.world->rank());
      static_cast<void>(model.clip_grad_norm(1.0));
      optimizer.step();
      optimizer.zero_grad();
      EXPECT_EQ(model.traffic().since(before), plan.traffic) << what;
    }
  });
}

TEST(Plan, MeasuredBytesAndTrafficEqualIt) {
  for (const Grid& grid : grids({{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {3, 2}})) {
    for (const FullyShardOptions& options : all_layouts()) {
      compare_with_plan(grid, Memory::shared, options);
    }
  }
}

TEST(Plan, HoldsWithoutSharedMemoryToo) {
  for (const Grid& grid : grids({{1, 3}, {2, 2}})) {
    for (const FullyShardOptions& options : all_layouts()) {
      compare_with_plan(grid, Memory::separate, options);
    }
  }
}

TEST(Memory, FullShardOnFourRanksHoldsAQuarterOfEach) {
  OddModel net({});
  const PlanInput four{.local_size = 4};
  const ShardingPlan plan = plan_sharding(net, planned_options(ShardingStrategy::full_shard), four);
  std::size_t numel = 0;
  for (const GroupReport& group : plan.groups) {
    numel += static_cast<std::size_t>(group.parameters);
  }
  // Each start is aligned to 64 bytes and each piece too: a few cache lines a parameter.
  const std::size_t parameters = 3 * 4 + 5;
  const std::size_t slack = plan.groups.size() * 64 + parameters * 64 / 4;
  EXPECT_GE(plan.memory.parameters, numel * 4 / 4);
  EXPECT_LE(plan.memory.parameters, numel * 4 / 4 + slack);
  EXPECT_EQ(plan.memory.gradients, plan.memory.parameters);
  EXPECT_EQ(plan.memory.optimizer_state, 2 * plan.memory.parameters);
  EXPECT_EQ(plan.gathered_per_node, 0U);
}

TEST(Memory, SeparateMemoryHoldsTwoLargestGroupsAndTheRoot) {
  OddModel net({});
  const ShardingPlan plan = plan_sharding(net, planned_options(ShardingStrategy::full_shard),
                                          {.local_size = 4, .shared_memory = false});
  std::int64_t largest = 0;
  for (std::size_t g = 1; g < plan.groups.size(); ++g) {
    largest = std::max(largest, plan.groups[g].buffer_numel);
  }
  EXPECT_LE(plan.memory.gather_slots,
            static_cast<std::size_t>(2 * largest + plan.groups[0].buffer_numel) * 4);
}

ShardedModel::Counters counters_of_a_step(ShardingStrategy strategy, Memory memory) {
  ShardedModel::Counters counters;
  comm::run_inproc(2, [&](comm::Communicator& world) {
    comm::MeshComms comms = mesh_of(world, memory);
    OddRun run;
    run.grid = {1, 2};
    ShardedModel model =
        fully_shard(std::make_shared<OddModel>(run.model), comms, planned_options(strategy));
    optim::AdamW optimizer(model.parameters());
    testing::odd_step(run, model, 0, world.rank());
    optimizer.step();
    optimizer.zero_grad();
    const ShardedModel::Counters before = model.counters();
    testing::odd_step(run, model, 1, world.rank());
    const ShardedModel::Counters after = model.counters();
    if (world.rank() == 0) {
      counters = {after.gathers - before.gathers, after.reductions - before.reductions,
                  after.prefetched - before.prefetched};
    }
  });
  return counters;
}

// Three blocks and a root. FULL_SHARD gathers every block twice but the last of forward, which is
// kept for backward; the root stays for the step.
TEST(Schedule, GathersAsOftenAsTheStrategySays) {
  for (const Memory memory : {Memory::shared, Memory::separate}) {
    EXPECT_EQ(counters_of_a_step(ShardingStrategy::full_shard, memory).gathers, 1 + 3 + 2);
    EXPECT_EQ(counters_of_a_step(ShardingStrategy::shard_grad_op, memory).gathers, 1 + 3);
    EXPECT_EQ(counters_of_a_step(ShardingStrategy::full_shard, memory).reductions, 4);
  }
}

TEST(Schedule, GathersBlocksBeforeTheyAreNeeded) {
  EXPECT_EQ(counters_of_a_step(ShardingStrategy::full_shard, Memory::separate).prefetched, 3 + 2);
}

TEST(Lifecycle, ParametersAreMetaOutsideTheStep) {
  comm::run_inproc(2, [&](comm::Communicator& world) {
    comm::MeshComms comms = mesh_of(world);
    OddRun run;
    run.grid = {1, 2};
    const auto net = std::make_shared<OddModel>(run.model);
    ShardedModel model = fully_shard(net, comms, planned_options(ShardingStrategy::full_shard));
    const auto all_meta = [&] {
      for (const auto& parameter : nn::named_parameters(*net)) {
        EXPECT_TRUE(parameter.value.data().is_meta()) << parameter.name;
      }
    };
    all_meta();
    testing::odd_step(run, model, 0, world.rank());
    all_meta();
    const autograd::GradMode off(false);
    static_cast<void>(model(nn::Variable(testing::odd_rows(0, 2, 4, 0, DType::f32))));
    all_meta();
  });
}

TEST(Lifecycle, NextForwardReadsTheUpdatedWeights) {
  for (const Memory memory : {Memory::shared, Memory::separate}) {
    comm::run_inproc(3, [&](comm::Communicator& world) {
      comm::MeshComms comms = mesh_of(world, memory);
      ShardedModel model = fully_shard(std::make_shared<OddModel>(testing::OddModelOptions{}),
                                       comms, planned_options(ShardingStrategy::full_shard));
      const autograd::GradMode off(false);
      const nn::Variable x(testing::odd_rows(0, 2, 4, 0, DType::f32));
      const Tensor before = model(x).data().clone();
      comms.world->barrier();
      for (const auto& [name, tensor] : model.state_dict().tensors) {
        kernel::scale_into(0.0, tensor.local, tensor.local, kernel::Write::overwrite);
      }
      model.parameters_changed();
      const Tensor after = model(x).data();
      for (const float value : after.span<float>()) {
        EXPECT_EQ(value, 0.0F);
      }
      EXPECT_NE(before.span<float>()[0], 0.0F);
      comms.world->barrier();
    });
  }
}

TEST(Lifecycle, NormIsTheSameBitsOnEveryRankAndSeesNonFiniteValues) {
  std::mutex mutex;
  std::vector<double> norms;
  comm::run_inproc(4, [&](comm::Communicator& world) {
    comm::MeshComms comms = mesh_of(world);
    OddRun run;
    run.grid = {1, 4};
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms,
                                     planned_options(ShardingStrategy::full_shard));
    testing::odd_step(run, model, 0, world.rank());
    const double norm = model.clip_grad_norm(1.0);
    {
      const std::lock_guard lock(mutex);
      norms.push_back(norm);
    }
    model.parameters().zero_grad();
    const nn::Variable y = model(nn::Variable(testing::odd_rows(0, 1, 4, 0, DType::f32)));
    const double bad = world.rank() == 2 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    model.backward(autograd::squared_error(y, testing::odd_rows(0, 1, 3, 5, DType::f32), bad));
    EXPECT_FALSE(std::isfinite(model.clip_grad_norm(1.0)));
  });
  for (const double norm : norms) {
    EXPECT_EQ(norm, norms.front());
  }
}

TEST(Errors, NoShardRefusesToAddToReducedGradients) {
  comm::run_inproc(2, [&](comm::Communicator& world) {
    comm::MeshComms comms = mesh_of(world);
    OddRun run;
    run.grid = {1, 2};
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms,
                                     planned_options(ShardingStrategy::no_shard));
    testing::odd_step(run, model, 0, world.rank());
    EXPECT_THROW(testing::odd_step(run, model, 0, world.rank()), ArgumentError);
  });
}

TEST(Errors, RanksThatRunDifferentBlocksAreFoundOut) {
  const auto body = [](comm::Communicator& world) {
    comm::MeshComms comms = mesh_of(world);
    OddRun run;
    run.grid = {1, 3};
    run.model.order =
        world.rank() == 1 ? std::vector<std::size_t>{1, 0} : std::vector<std::size_t>{0, 1};
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms,
                                     planned_options(ShardingStrategy::full_shard));
    testing::odd_step(run, model, 0, world.rank());
    EXPECT_THROW(static_cast<void>(model.clip_grad_norm(1.0)), CommError);
  };
  comm::run_inproc(3, body);
}

FullyShardOptions with_policy(const MixedPrecisionPolicy& policy) {
  FullyShardOptions options;
  options.mixed_precision = policy;
  return options;
}

TEST(Errors, RefusesOptionsThatExcludeEachOther) {
  comm::MeshComms comms = comm::make_self_comms();
  const auto net = std::make_shared<OddModel>(testing::OddModelOptions{});
  FullyShardOptions kept;
  kept.reshard_after_backward = false;
  FullyShardOptions deferred = planned_options(ShardingStrategy::no_shard);
  deferred.accumulation = Accumulation::defer_all_reduce;
  for (const FullyShardOptions& options :
       {with_policy({.param_dtype = DType::f64}), with_policy({.master_dtype = DType::bf16}),
        with_policy({.reduce_dtype = DType::i32}), with_policy({.accumulate_dtype = DType::f16}),
        kept, deferred}) {
    EXPECT_THROW(static_cast<void>(fully_shard(net, comms, options)), ConfigError);
  }
  FullyShardOptions deep;
  deep.prefetch_depth = 99;
  EXPECT_THROW(static_cast<void>(fully_shard(net, comms, deep)), ArgumentError);
}

}  // namespace
}  // namespace sherd::fsdp
