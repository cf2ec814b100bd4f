// What a caller can ask of the engine beside a plain step.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "f64_policy.hpp"
#include "sherd/autograd/function.hpp"
#include "sherd/base/error.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Grid;
using testing::Memory;
using testing::OddModel;
using testing::OddResult;
using testing::OddRun;
using testing::run_grid;

/// Calls `body(rank, model, net)` on every rank of a grid with a sharded OddModel.
template <class Body>
void with_model(const Grid& grid, const FullyShardOptions& options, const Body& body,
                Memory memory = Memory::shared, testing::OddModelOptions shape = {}) {
  run_grid(grid, memory, [&](comm::MeshComms& comms) {
    const auto net = std::make_shared<OddModel>(shape);
    ShardedModel model = fully_shard(net, comms, options);
    body(comms.world->rank(), model, *net);
    comms.world->barrier();
  });
}

FullyShardOptions options_of(ShardingStrategy strategy) {
  FullyShardOptions options;
  options.strategy = strategy;
  options.mixed_precision = kF64;
  return options;
}

OddRun run_of(const Grid& grid, ShardingStrategy strategy = ShardingStrategy::full_shard) {
  OddRun run;
  run.grid = grid;
  run.sharding = options_of(strategy);
  return run;
}

nn::Variable rows(std::int64_t count, DType dtype = DType::f64) {
  return nn::Variable(testing::odd_rows(0, count, 4, 0, dtype));
}

/// One step of a run on every rank; returns what clip_grad_norm() said to each.
std::vector<double> norms(const OddRun& run, NormType type) {
  std::mutex mutex;
  std::vector<double> all;
  with_model(run.grid, run.sharding, [&](int rank, ShardedModel& model, OddModel&) {
    testing::odd_step(run, model, 0, rank);
    const double norm = model.clip_grad_norm(0.0, nullptr, type);
    const std::lock_guard lock(mutex);
    all.push_back(norm);
  });
  return all;
}

TEST(Norm, EveryKindEqualsTheUnshardedOneWithTheSameBitsOnAllRanks) {
  for (const NormType type : {NormType::one, NormType::two, NormType::three, NormType::infinity}) {
    const double oracle = norms(run_of({}, ShardingStrategy::no_shard), type).front();
    EXPECT_GT(oracle, 0.0);
    for (const StrategyRow& strategy : kStrategies) {
      for (const Grid& grid : {Grid{1, 3}, Grid{2, 2}, Grid{3, 1}}) {
        const auto all = norms(run_of(grid, strategy.strategy), type);
        for (const double norm : all) {
          EXPECT_EQ(norm, all.front());
          EXPECT_NEAR(norm, oracle, 1e-12 * oracle) << strategy.name;
        }
      }
    }
  }
}

TEST(Norm, LossScaleIsTakenOutOfNormAndUpdate) {
  OddRun plain = run_of({1, 2});
  plain.sharding.mixed_precision = {.param_dtype = DType::f32, .master_dtype = DType::f32};
  std::vector<double> found(2);
  std::vector<std::vector<float>> weights(2);
  for (const std::size_t scaled : {0U, 1U}) {
    run_grid(plain.grid, Memory::shared, [&](comm::MeshComms& comms) {
      ShardedModel model =
          fully_shard(std::make_shared<OddModel>(plain.model), comms, plain.sharding);
      optim::Sgd optimizer(model.parameters(), {.learning_rate = 0.5});
      const double scale = scaled == 1 ? 1024.0 : 1.0;  // a power of two loses no bit
      const nn::Variable y = model(rows(2, DType::f32));
      model.set_loss_scale(scale);
      model.backward(
          autograd::squared_error(y, testing::odd_rows(0, 2, 3, 5, DType::f32), scale / 4));
      const double norm = model.clip_grad_norm(0.25);
      optimizer.step();
      comms.world->barrier();
      if (comms.world->rank() == 0) {
        found[scaled] = norm;
        for (const auto& [name, tensor] : model.state_dict().tensors) {
          const auto values = tensor.local.span<float>();
          weights[scaled].insert(weights[scaled].end(), values.begin(), values.end());
        }
      }
      comms.world->barrier();
    });
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(weights[0], weights[1]);
}

/// A NaN in the target of one rank's second micro-batch: every rank is told which.
void expect_provenance(const Grid& grid, ShardingStrategy strategy, Memory memory) {
  const int culprit = grid.ranks() - 1;
  with_model(
      grid, options_of(strategy),
      [&](int rank, ShardedModel& model, OddModel&) {
        for (const int micro : {0, 1}) {
          const nn::Variable y = model(rows(2));
          const bool bad = rank == culprit && micro == 1;
          model.set_is_last_backward(micro == 1);
          model.backward(
              autograd::squared_error(y, testing::odd_rows(0, 2, 3, 5, DType::f64),
                                      bad ? std::numeric_limits<double>::quiet_NaN() : 1.0));
        }
        EXPECT_FALSE(std::isfinite(model.clip_grad_norm(1.0)));
        ASSERT_TRUE(model.non_finite().has_value());
        EXPECT_FALSE(model.non_finite()->parameter.empty());
        EXPECT_EQ(model.non_finite()->micro_batch, 1);
        EXPECT_EQ(model.non_finite()->rank,
                  mesh::DeviceMesh(grid.nodes, grid.local_size).owner(culprit));
        model.parameters().zero_grad();
        const nn::Variable y = model(rows(1));
        model.backward(autograd::squared_error(y, testing::odd_rows(0, 1, 3, 5, DType::f64), 1.0));
        EXPECT_TRUE(std::isfinite(model.clip_grad_norm(1.0)));
        EXPECT_FALSE(model.non_finite().has_value());
      },
      memory);
}

TEST(NonFinite, NamesParameterRankAndMicroBatch) {
  for (const StrategyRow& strategy : kStrategies) {
    for (const Memory memory : {Memory::shared, Memory::separate}) {
      for (const Grid& grid : {Grid{1, 1}, Grid{1, 3}, Grid{2, 2}}) {
        expect_provenance(grid, strategy.strategy, memory);
      }
    }
  }
}

TEST(Hybrid, ReplicasHoldTheSameBitsAfterEveryStep) {
  for (const ShardingStrategy strategy :
       {ShardingStrategy::hybrid_shard, ShardingStrategy::hybrid_shard_zero2,
        ShardingStrategy::no_shard}) {
    OddRun run = run_of({3, 2}, strategy);
    run.sharding.mixed_precision = {.param_dtype = DType::bf16, .master_dtype = DType::f32};
    run_grid(run.grid, Memory::shared, [&](comm::MeshComms& comms) {
      ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms, run.sharding);
      optim::AdamW optimizer(model.parameters());
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        testing::odd_step(run, model, step, comms.world->rank());
        static_cast<void>(model.clip_grad_norm(0.5));
        optimizer.step();
        for (const auto& [name, tensor] : model.state_dict().tensors) {
          const Tensor first = tensor.local.clone();
          comms.cross->broadcast(first.raw(), first.nbytes(), DType::u8, 0).wait();
          EXPECT_EQ(std::memcmp(first.raw(), tensor.local.raw(), first.nbytes()), 0) << name;
        }
      }
    });
  }
}

TEST(Groups, UnshardMakesParametersUsableUntilReshard) {
  for (const Memory memory : {Memory::shared, Memory::separate}) {
    for (const Grid& grid : {Grid{1, 2}, Grid{2, 2}}) {
      with_model(
          grid, options_of(ShardingStrategy::full_shard),
          [&](int, ShardedModel& model, OddModel& net) {
            const auto named = nn::named_parameters(net);
            const auto in_block = [&](auto check) {
              for (const auto& parameter : named) {
                if (parameter.name.rfind("blocks.1.", 0) == 0) {
                  check(parameter.value.data().is_meta());
                }
              }
            };
            in_block([](bool meta) { EXPECT_TRUE(meta); });
            model.unshard("blocks.1").wait();
            in_block([](bool meta) { EXPECT_FALSE(meta); });
            model.reshard("blocks.1");
            in_block([](bool meta) { EXPECT_TRUE(meta); });
            { const comm::Work dropped = model.unshard("blocks.2"); }
            model.reshard("blocks.2");
            EXPECT_THROW(static_cast<void>(model.unshard("blocks.9")), ArgumentError);
          },
          memory);
    }
  }
}

TEST(Groups, PrefetchListsReplaceTheRecordedOrder) {
  OddRun run = run_of({2, 2});
  const OddResult oracle = testing::train_odd(run);
  with_model(run.grid, run.sharding, [&](int rank, ShardedModel& model, OddModel&) {
    model.set_forward_prefetch("blocks.0", {});
    model.set_forward_prefetch("blocks.1", {"blocks.2"});
    model.set_backward_prefetch("blocks.2", {"blocks.1"});
    model.set_backward_prefetch("blocks.1", {});
    optim::AdamW optimizer(
        model.parameters(),
        {.learning_rate = 0.02, .weight_decay = 0.1, .decay = optim::Decay::matrices});
    for (int step = 0; step < run.steps; ++step) {
      optimizer.zero_grad();
      const auto before = model.counters();
      StepValues values{testing::odd_step(run, model, step, rank), 0.0};
      // The first block by the root, one listed forward, one listed backward.
      EXPECT_EQ(model.counters().prefetched - before.prefetched, 3);
      EXPECT_NEAR(model.clip_grad_norm(run.max_norm, &values),
                  oracle.norm[static_cast<std::size_t>(step)], 1e-12);
      optimizer.step();
    }
  });
}

TEST(Groups, AnotherWayInRunsBlocksAndRootParameters) {
  with_model({2, 2}, options_of(ShardingStrategy::full_shard),
             [&](int, ShardedModel& model, OddModel& net) {
               const autograd::GradMode off(false);
               const Tensor plain = model(rows(2)).data().clone();
               const Tensor other =
                   model.run(rows(2), [&](const nn::Variable& x) { return net.forward(x); }).data();
               EXPECT_EQ(std::memcmp(plain.raw(), other.raw(), plain.nbytes()), 0);
             });
}

TEST(Groups, AForwardNobodyDifferentiatesKeepsNoOldValues) {
  for (const Memory memory : {Memory::shared, Memory::separate}) {
    for (const StrategyRow& strategy : kStrategies) {
      OddRun run = run_of({2, 2}, strategy.strategy);
      run.memory = memory;
      const OddResult oracle = testing::train_odd(run);
      with_model(
          run.grid, run.sharding,
          [&](int rank, ShardedModel& model, OddModel&) {
            const auto optimizer = testing::odd_optimizer(run, model);
            for (int step = 0; step < run.steps; ++step) {
              optimizer->zero_grad();
              StepValues values{testing::odd_step(run, model, step, rank), 0.0};
              static_cast<void>(model.clip_grad_norm(run.max_norm, &values));
              EXPECT_EQ(values.loss, oracle.loss[static_cast<std::size_t>(step)]) << strategy.name;
              static_cast<void>(model(rows(1)));  // with a graph that is dropped
              optimizer->step();
            }
          },
          memory);
    }
  }
}

TEST(Accumulation, OneTimesEightEqualsEightTimesOne) {
  for (const StrategyRow& strategy : kStrategies) {
    OddRun eight = run_of({1, 8}, strategy.strategy);
    OddRun one = run_of({1, 1}, ShardingStrategy::no_shard);
    one.micro_batches = 8;
    const OddResult wide = testing::train_odd(eight);
    const OddResult deep = testing::train_odd(one);
    for (std::size_t step = 0; step < wide.loss.size(); ++step) {
      EXPECT_NEAR(wide.loss[step], deep.loss[step], 1e-12);
      EXPECT_NEAR(wide.norm[step], deep.norm[step], 1e-12);
    }
  }
}

TEST(Accumulation, DeferringSendsLessBetweenNodes) {
  const auto cross_bytes = [](Accumulation mode) {
    OddRun run = run_of({2, 2}, ShardingStrategy::hybrid_shard);
    run.sharding.accumulation = mode;
    run.micro_batches = 4;
    std::size_t bytes = 0;
    with_model(run.grid, run.sharding, [&](int rank, ShardedModel& model, OddModel&) {
      testing::odd_step(run, model, 0, rank);
      if (rank == 0) {
        bytes = model.traffic().bytes(LinkLevel::cross);
      }
    });
    return bytes;
  };
  EXPECT_EQ(cross_bytes(Accumulation::reduce_each),
            4 * cross_bytes(Accumulation::defer_all_reduce));
  EXPECT_EQ(cross_bytes(Accumulation::no_sync), cross_bytes(Accumulation::defer_all_reduce));
}

}  // namespace
}  // namespace sherd::fsdp
