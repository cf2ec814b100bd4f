// The engine on device memory. The same run on host memory that ranks do not share is the oracle,
// to the last bit: an emulated device computes with the same kernels, in another order of streams,
// and holds NaN where nothing has been written yet.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "sherd/autograd/functional.hpp"
#include "sherd/base/error.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/tensor/memory_stats.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Grid;
using testing::Memory;
using testing::OddResult;
using testing::OddRun;
using testing::train_odd;

constexpr MixedPrecisionPolicy kMixed{.param_dtype = DType::bf16, .reduce_dtype = DType::bf16};

void expect_same_bits(const OddRun& run) {
  OddRun on_host = run;
  on_host.memory = Memory::separate;
  const OddResult expected = train_odd(on_host);
  const OddResult actual = train_odd(run);
  EXPECT_EQ(actual.loss, expected.loss);
  EXPECT_EQ(actual.norm, expected.norm);
  EXPECT_EQ(actual.parameters, expected.parameters);
  EXPECT_TRUE(std::isfinite(actual.norm.back()));
}

using Case = std::tuple<Grid, ShardingStrategy>;

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const auto& [grid, strategy] = info.param;
  return std::string(row(strategy).name) + "_" + std::to_string(grid.nodes) + "x" +
         std::to_string(grid.local_size);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const StrategyRow& strategy : kStrategies) {
    for (const Grid& grid : {Grid{1, 1}, Grid{1, 3}, Grid{2, 2}}) {
      all.emplace_back(grid, strategy.strategy);
    }
  }
  return all;
}

class OnDevice : public ::testing::TestWithParam<Case> {
 protected:
  OddRun run() const {
    const auto& [grid, strategy] = GetParam();
    OddRun run;
    run.grid = grid;
    run.memory = Memory::device;
    run.sharding.strategy = strategy;
    run.seed = static_cast<std::uint64_t>(strategy) + 7 * static_cast<std::uint64_t>(grid.nodes);
    return run;
  }
};

TEST_P(OnDevice, IsTheHostBitForBit) {
  OddRun micro = run();
  micro.micro_batches = 2;
  expect_same_bits(micro);
}

TEST_P(OnDevice, InMixedPrecisionToo) {
  OddRun mixed = run();
  mixed.sharding.mixed_precision = kMixed;
  mixed.momentum = 0.9;
  mixed.steps = 3;
  expect_same_bits(mixed);
}

INSTANTIATE_TEST_SUITE_P(All, OnDevice, ::testing::ValuesIn(cases()), name_of);

OddRun full_shard(const Grid& grid) {
  OddRun run;
  run.grid = grid;
  run.memory = Memory::device;
  return run;
}

TEST(OnDeviceMore, FewSlotsManySchedules) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    OddRun run = full_shard({1, 2});
    run.seed = seed;
    run.sharding.reduction_slots = 1;
    run.sharding.prefetch_depth = seed % 2 == 0 ? 0 : 2;
    run.model.hidden = {7, 3, 11, 5, 9};
    run.model.order = {0, 1, 2, 3, 4, 1};
    expect_same_bits(run);
  }
}

TEST(OnDeviceMore, WaysToAccumulate) {
  for (const Accumulation mode : {Accumulation::defer_all_reduce, Accumulation::no_sync}) {
    OddRun run = full_shard({2, 2});
    run.sharding.accumulation = mode;
    run.sharding.reshard_after_forward = ReshardAfterForward::node;
    run.micro_batches = 3;
    expect_same_bits(run);
  }
}

TEST(OnDeviceMore, IgnoredParametersAreSummed) {
  OddRun run = full_shard({2, 2});
  run.sharding.ignore = [](const std::string& name) {
    return name == "out.bias" ? Ignore::all_reduce : Ignore::no;
  };
  run.model.freeze = true;
  run.steps = 2;
  OddRun on_host = run;
  on_host.memory = Memory::separate;
  EXPECT_EQ(train_odd(run).parameters, train_odd(on_host).parameters);
}

/// Exactly what the plan says lies on the device, and nothing besides between steps.
TEST(OnDeviceMore, DeviceBytesAreThePlannedOnes) {
  for (const Grid& grid : {Grid{1, 1}, Grid{1, 3}, Grid{2, 2}}) {
    testing::run_grid(grid, Memory::device, [&](comm::MeshComms& comms) {
      const OddRun run = full_shard(grid);
      ShardedModel model =
          fully_shard(std::make_shared<testing::OddModel>(run.model), comms, run.sharding);
      const auto optimizer = testing::odd_optimizer(run, model);
      for (int step = 0; step < 2; ++step) {
        optimizer->zero_grad();
        static_cast<void>(testing::odd_step(run, model, step, comms.world->rank()));
        static_cast<void>(model.clip_grad_norm(run.max_norm));
        optimizer->step();
      }
      EXPECT_EQ(total_bytes(model.memory()), total_bytes(model.plan().memory));
      EXPECT_EQ(memory_stats(MemoryKind::device).live_bytes,
                total_bytes(model.memory()) + optimizer->state_bytes());
    });
  }
}

/// Where a bad value came from, found by the device on the way.
TEST(OnDeviceMore, BadGradientsAreTraced) {
  for (const Memory memory : {Memory::separate, Memory::device}) {
    testing::run_grid({1, 2}, memory, [&](comm::MeshComms& comms) {
      const OddRun run = full_shard({1, 2});
      ShardedModel model =
          fully_shard(std::make_shared<testing::OddModel>(run.model), comms, run.sharding);
      for (int micro = 0; micro < 2; ++micro) {
        const bool bad = comms.world->rank() == 1 && micro == 1;
        const double weight = bad ? std::numeric_limits<double>::quiet_NaN() : 1.0;
        const nn::Variable y = model(nn::Variable(testing::odd_rows(micro, 3, 4, 0, DType::f32)));
        model.set_is_last_backward(micro == 1);
        model.backward(
            autograd::squared_error(y, testing::odd_rows(micro, 3, 3, 5, DType::f32), weight));
      }
      EXPECT_TRUE(std::isnan(model.clip_grad_norm(1.0)));
      ASSERT_TRUE(model.non_finite());
      EXPECT_EQ(model.non_finite()->rank, 1);
      EXPECT_EQ(model.non_finite()->micro_batch, 1);
      EXPECT_NE(model.non_finite()->parameter, "");
    });
  }
}

/// A rank that ends early must not leave the others waiting on their devices.
TEST(OnDeviceMore, ARankThatThrowsEndsTheOthers) {
  const OddRun run = full_shard({1, 3});
  const auto train = [&](comm::MeshComms& comms) {
    ShardedModel model =
        fully_shard(std::make_shared<testing::OddModel>(run.model), comms, run.sharding);
    for (int step = 0; step < 3; ++step) {
      static_cast<void>(testing::odd_step(run, model, step, comms.world->rank()));
      if (step == 1 && comms.world->rank() == 1) {
        throw std::runtime_error("this rank has failed");
      }
      static_cast<void>(model.clip_grad_norm(1.0));
    }
  };
  EXPECT_THROW(testing::run_grid(run.grid, Memory::device, train), std::runtime_error);
}

TEST(OnDeviceMore, OffloadIsRefused) {
  OddRun run = full_shard({1, 1});
  run.sharding.offload.params = true;
  EXPECT_THROW(static_cast<void>(train_odd(run)), ConfigError);
}

/// Three blocks; with activation checkpointing.
std::shared_ptr<models::Llama> small_llama() {
  models::LlamaConfig config;
  config.vocab_size = 37;
  config.hidden_size = 16;
  config.intermediate_size = 24;
  config.num_hidden_layers = 3;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.max_position_embeddings = 16;
  return std::make_shared<models::Llama>(config, autograd::Recompute::non_reentrant);
}

/// Forward and backward of two micro-batches; their losses.
std::vector<Tensor> llama_step(ShardedModel& model, int step, comm::Communicator& world) {
  std::vector<Tensor> losses;
  for (int micro = 0; micro < 2; ++micro) {
    const Tensor ids = Tensor::empty({2, 9}, DType::i32);
    for (std::int32_t i = 0; i < 18; ++i) {
      ids.data<std::int32_t>()[i] = (i * 5 + step + micro + world.rank()) % 37;
    }
    const nn::Variable loss =
        autograd::cross_entropy(model(nn::Variable(ids)), ids, 1.0 / (18.0 * 2 * world.size()));
    losses.push_back(loss.data());
    model.set_is_last_backward(micro == 1);
    model.backward(loss);
  }
  return losses;
}

/// The compute stream is held until the whole step has been issued: a host that waited anywhere
/// before the norm would wait for itself.
TEST(OnDeviceMore, TheHostDoesNotWaitBeforeTheNorm) {
  for (const Grid& grid : {Grid{1, 2}, Grid{2, 2}}) {
    testing::run_grid(grid, Memory::device, [&](comm::MeshComms& comms) {
      ShardedModel model = fully_shard(small_llama(), comms, {});
      optim::AdamW optimizer(model.parameters(), {.learning_rate = 0.02});
      auto* compute = runtime::as_emulated(runtime::current_device()->compute_stream());
      for (int step = 0; step < 2; ++step) {
        bool issued = false;
        int asked = 0;
        optimizer.zero_grad();
        const auto gate = [&] {
          if (!issued && ++asked > 20000) {
            ADD_FAILURE() << "the host waits for the step it is issuing";
            issued = true;
          }
          return issued;
        };
        compute->run_polled([] {}, gate);
        StepValues sums;
        sums.losses = llama_step(model, step, *comms.world);
        issued = true;
        EXPECT_GT(model.clip_grad_norm(1.0, &sums), 0.0);
        EXPECT_GT(sums.loss, 0.0);
        optimizer.step();
      }
    });
  }
}

/// Losses that the host does not wait for: steps are given to the device ahead of it.
std::vector<double> train_llama(const Grid& grid, Memory memory, std::uint64_t seed) {
  std::vector<double> values;
  testing::run_grid(
      grid, memory,
      [&](comm::MeshComms& comms) {
        ShardedModel model = fully_shard(small_llama(), comms, {});
        optim::AdamW optimizer(model.parameters(), {.learning_rate = 0.02});
        for (int step = 0; step < 3; ++step) {
          optimizer.zero_grad();
          StepValues sums;
          sums.losses = llama_step(model, step, *comms.world);
          const double norm = model.clip_grad_norm(1.0, &sums);
          optimizer.step();
          if (comms.world->rank() == 0) {
            values.insert(values.end(), {sums.loss, norm});
          }
        }
      },
      seed);
  return values;
}

TEST(OnDeviceMore, ALlamaWhoseLossesAreReadOnceAStep) {
  for (const Grid& grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 2}}) {
    const std::vector<double> expected = train_llama(grid, Memory::separate, 0);
    ASSERT_EQ(expected.size(), 6U);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EXPECT_EQ(train_llama(grid, Memory::device, seed), expected);
    }
  }
}

}  // namespace
}  // namespace sherd::fsdp
