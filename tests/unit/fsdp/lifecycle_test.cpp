// Memory, gathers and errors of the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "sherd/autograd/function.hpp"
#include "sherd/base/error.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Memory;
using testing::mesh_of;
using testing::OddModel;
using testing::OddRun;

constexpr ShardingStrategy kAvailable[] = {
    ShardingStrategy::no_shard, ShardingStrategy::shard_grad_op, ShardingStrategy::full_shard};

FullyShardOptions options_of(ShardingStrategy strategy, DType compute = DType::f32) {
  FullyShardOptions options;
  options.strategy = strategy;
  options.mixed_precision.param_dtype = compute;
  return options;
}

TEST(Memory, MeasuredBytesEqualThePlan) {
  for (const int ranks : {1, 2, 3, 4, 5}) {
    for (const Memory memory : {Memory::shared, Memory::separate}) {
      for (const ShardingStrategy strategy : kAvailable) {
        for (const DType compute : {DType::f32, DType::bf16}) {
          comm::run_inproc(ranks, [&](comm::Communicator& world) {
            comm::MeshComms comms = mesh_of(world, memory);
            const FullyShardOptions options = options_of(strategy, compute);
            const auto net = std::make_shared<OddModel>(testing::OddModelOptions{});
            const ShardingPlan plan = plan_sharding(*net, options,
                                                    {.world_size = ranks,
                                                     .shared_memory = memory == Memory::shared,
                                                     .local_size = ranks,
                                                     .optimizer_slots = 2});
            ShardedModel model = fully_shard(net, comms, options);
            optim::AdamW optimizer(model.parameters());
            MemoryReport measured = model.memory();
            measured.optimizer_state = optimizer.state_bytes();
            EXPECT_EQ(measured, plan.memory) << ranks << " ranks, " << row(strategy).name;
          });
        }
      }
    }
  }
}

TEST(Memory, FullShardOnFourRanksHoldsAQuarterOfEach) {
  OddModel net({});
  const PlanInput four{
      .world_size = 4, .shared_memory = true, .local_size = 4, .optimizer_slots = 2};
  const ShardingPlan plan = plan_sharding(net, options_of(ShardingStrategy::full_shard), four);
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
  const ShardingPlan plan = plan_sharding(
      net, options_of(ShardingStrategy::full_shard),
      {.world_size = 4, .shared_memory = false, .local_size = 1, .optimizer_slots = 2});
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
    run.ranks = 2;
    ShardedModel model =
        fully_shard(std::make_shared<OddModel>(run.model), comms, options_of(strategy));
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
    run.ranks = 2;
    const auto net = std::make_shared<OddModel>(run.model);
    ShardedModel model = fully_shard(net, comms, options_of(ShardingStrategy::full_shard));
    const auto all_meta = [&] {
      for (const auto& parameter : nn::named_parameters(*net)) {
        EXPECT_TRUE(parameter.parameter.value.data().is_meta()) << parameter.name;
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
                                       comms, options_of(ShardingStrategy::full_shard));
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
    run.ranks = 4;
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms,
                                     options_of(ShardingStrategy::full_shard));
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
    run.ranks = 2;
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms,
                                     options_of(ShardingStrategy::no_shard));
    testing::odd_step(run, model, 0, world.rank());
    EXPECT_THROW(testing::odd_step(run, model, 0, world.rank()), ArgumentError);
  });
}

TEST(Errors, RanksThatRunDifferentBlocksAreFoundOut) {
  const auto body = [](comm::Communicator& world) {
    comm::MeshComms comms = mesh_of(world);
    OddRun run;
    run.ranks = 3;
    run.model.order =
        world.rank() == 1 ? std::vector<std::size_t>{1, 0} : std::vector<std::size_t>{0, 1};
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms,
                                     options_of(ShardingStrategy::full_shard));
    testing::odd_step(run, model, 0, world.rank());
    EXPECT_THROW(static_cast<void>(model.clip_grad_norm(1.0)), CommError);
  };
  comm::run_inproc(3, body);
}

TEST(Errors, RefusesStrategiesAndDtypesOfLaterVersions) {
  comm::MeshComms comms = comm::make_self_comms();
  const auto net = std::make_shared<OddModel>(testing::OddModelOptions{});
  EXPECT_THROW(
      static_cast<void>(fully_shard(net, comms, options_of(ShardingStrategy::hybrid_shard))),
      ConfigError);
  EXPECT_THROW(static_cast<void>(
                   fully_shard(net, comms, options_of(ShardingStrategy::full_shard, DType::f16))),
               ConfigError);
  FullyShardOptions deep;
  deep.prefetch_depth = 99;
  EXPECT_THROW(static_cast<void>(fully_shard(net, comms, deep)), ArgumentError);
}

}  // namespace
}  // namespace sherd::fsdp
