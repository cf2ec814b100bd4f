// Parameters of every kind: frozen and unfrozen, ignored, bytes, shard units; dtypes of sums.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "f64_policy.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/half.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Grid;
using testing::Memory;
using testing::OddModel;
using testing::OddResult;
using testing::OddRun;
using testing::run_grid;

constexpr Grid kGrids[] = {{1, 1}, {1, 3}, {2, 2}};

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor wide = to_dtype(tensor, DType::f64);
  return {wide.span<double>().begin(), wide.span<double>().end()};
}

void collect_all(ShardedModel& model, comm::Communicator& world, std::mutex& mutex,
                 OddResult& into) {
  {
    const std::lock_guard lock(mutex);
    testing::collect(model, into);
  }
  world.barrier();
}

/// Trains two steps frozen and two with everything trainable.
OddResult train_and_unfreeze(const Grid& grid, Memory memory, ShardingStrategy strategy) {
  OddRun run;
  run.grid = grid;
  run.model.freeze = true;
  run.sharding.strategy = strategy;
  run.sharding.mixed_precision = kF64;
  OddResult result;
  OddResult before;
  OddResult after;
  std::mutex mutex;
  run_grid(grid, memory, [&](comm::MeshComms& comms) {
    ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms, run.sharding);
    auto optimizer = testing::odd_optimizer(run, model);
    for (int step = 0; step < 4; ++step) {
      if (step == 2) {
        collect_all(model, *comms.world, mutex, before);
        model.set_requires_grad([](const std::string&) { return true; });
        collect_all(model, *comms.world, mutex, after);
        optimizer = testing::odd_optimizer(run, model);
      }
      optimizer->zero_grad();
      StepValues values{testing::odd_step(run, model, step, comms.world->rank()), 0.0};
      static_cast<void>(model.clip_grad_norm(run.max_norm, &values));
      optimizer->step();
      const std::lock_guard lock(mutex);
      if (comms.world->rank() == 0) {
        result.loss.push_back(values.loss);
      }
    }
    const std::lock_guard lock(mutex);
    testing::collect(model, result);
  });
  EXPECT_FALSE(before.parameters.empty());
  EXPECT_EQ(before.parameters, after.parameters);
  return result;
}

TEST(Frozen, UnfreezingLaterKeepsValuesAndEqualsTheUnshardedRun) {
  const OddResult oracle = train_and_unfreeze({}, Memory::shared, ShardingStrategy::no_shard);
  for (const StrategyRow& strategy : kStrategies) {
    for (const Grid& grid : kGrids) {
      const OddResult result = train_and_unfreeze(grid, Memory::shared, strategy.strategy);
      for (std::size_t step = 0; step < oracle.loss.size(); ++step) {
        EXPECT_NEAR(result.loss[step], oracle.loss[step], 1e-12) << strategy.name;
      }
      for (const auto& [name, values] : oracle.parameters) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(result.parameters.at(name)[i], values[i], 1e-12) << name;
        }
      }
    }
  }
}

TEST(Ignored, StaysWholeAndIsSummedOverRanksWhenAsked) {
  FullyShardOptions options;
  options.mixed_precision = kF64;
  options.ignore = [](const std::string& name) {
    return name == "in.weight" ? Ignore::all_reduce
                               : (name == "in.bias" ? Ignore::leave : Ignore::no);
  };
  std::vector<double> oracle;
  for (const Grid& grid : kGrids) {
    run_grid(grid, Memory::shared, [&](comm::MeshComms& comms) {
      OddRun run;
      run.grid = grid;
      run.micro_batches = 2;
      run.sharding = options;
      ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms, run.sharding);
      const auto ignored = model.ignored_parameters();
      ASSERT_EQ(ignored.size(), 2U);
      EXPECT_FALSE(ignored[0].value.data().is_meta());
      EXPECT_EQ(model.state_dict().tensors.count("model.in.weight"), 0U);
      testing::odd_step(run, model, 0, comms.world->rank());
      const auto gradient = values_of(ignored[0].value.grad());
      if (grid.ranks() == 1) {
        oracle = gradient;
      }
      ASSERT_EQ(gradient.size(), oracle.size());
      for (std::size_t i = 0; i < oracle.size(); ++i) {
        EXPECT_NEAR(gradient[i], oracle[i], 1e-12);
      }
      EXPECT_EQ(model.memory(), model.plan().memory);
      comms.world->barrier();
    });
  }
}

TEST(Offload, ShardsLiveWhereTheyAreToldAndNothingElseChanges) {
  for (const StrategyRow& strategy : kStrategies) {
    for (const Grid& grid : kGrids) {
      OddRun run;
      run.grid = grid;
      run.micro_batches = 4;
      run.sharding.strategy = strategy.strategy;
      const OddResult plain = testing::train_odd(run);
      std::mutex mutex;
      std::int64_t elements = 0;
      run.sharding.offload = {true, true, [&](const Shape& shape, DType dtype) {
                                const std::lock_guard lock(mutex);
                                elements += shape.numel();
                                return Tensor::zeros(shape, dtype);
                              }};
      const OddResult offloaded = testing::train_odd(run);
      EXPECT_EQ(offloaded.loss, plain.loss) << strategy.name;
      EXPECT_EQ(offloaded.parameters, plain.parameters) << strategy.name;
      run_grid(grid, Memory::shared, [&](comm::MeshComms& comms) {
        const std::int64_t before = elements;
        comms.world->barrier();
        ShardedModel model =
            fully_shard(std::make_shared<OddModel>(run.model), comms, run.sharding);
        const optim::AdamW optimizer(model.parameters());
        comms.world->barrier();
        // Master, gradient, two moments of everything a rank holds.
        const MemoryReport memory = model.memory();
        EXPECT_EQ(memory, model.plan().memory);
        EXPECT_EQ(static_cast<std::size_t>(elements - before) * sizeof(float),
                  4 * memory.parameters * static_cast<std::size_t>(grid.ranks()));
        comms.world->barrier();
      });
    }
  }
}

/// Adds table[0] (bytes, scaled) to its input.
class ByteBlock : public nn::Module {
 public:
  ByteBlock() {
    table_ = register_parameter("table", {37}, nn::InitSpec::zeros(), DType::u8);
    scale_ = register_parameter("scale", {5}, nn::InitSpec::ones());
  }
  nn::Variable forward(const nn::Variable& x) override {
    seen.assign(table_.data().span<std::uint8_t>().begin(),
                table_.data().span<std::uint8_t>().end());
    return autograd::rms_norm(x, scale_, 1e-5);
  }
  std::vector<std::uint8_t> seen;

 private:
  nn::Variable table_;
  nn::Variable scale_;
};

TEST(Bytes, AFrozenPayloadIsGatheredBitExact) {
  for (const Memory memory : {Memory::shared, Memory::separate}) {
    for (const StrategyRow& strategy : kStrategies) {
      for (const Grid& grid : {Grid{1, 3}, Grid{2, 2}}) {
        run_grid(grid, memory, [&](comm::MeshComms& comms) {
          const auto list = std::make_shared<nn::ModuleList>();
          const auto block = std::make_shared<ByteBlock>();
          list->push_back(block);
          FullyShardOptions options;
          options.strategy = strategy.strategy;
          options.mixed_precision.param_dtype = DType::bf16;
          options.load = [](const std::string& name, std::int64_t first, const Tensor& out) {
            for (std::int64_t i = 0; i < out.numel(); ++i) {
              if (name == "0.table") {
                out.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(7 * (first + i) + 3);
              } else {
                out.data<float>()[i] = 1.0F;
              }
            }
          };
          ShardedModel model = fully_shard(list, comms, options);
          const nn::Variable y = model(nn::Variable(testing::odd_rows(0, 2, 5, 0, DType::f32)));
          ASSERT_EQ(block->seen.size(), 37U);
          for (std::uint32_t i = 0; i < block->seen.size(); ++i) {
            EXPECT_EQ(unsigned{block->seen[i]}, (7 * i + 3) % 256);
          }
          model.backward(autograd::squared_error(y, Tensor::zeros({2, 5}, DType::bf16), 1.0));
          EXPECT_TRUE(std::isfinite(model.clip_grad_norm(1.0)));
          EXPECT_EQ(model.memory(), model.plan().memory);
          comms.world->barrier();
        });
      }
    }
  }
}

TEST(ShardUnit, NoRankHoldsPartOfAUnit) {
  for (const ShardUnit unit : {ShardUnit::row, ShardUnit::tensor}) {
    OddRun run;
    run.grid = {2, 2};
    run.sharding.mixed_precision = kF64;
    run.sharding.shard_unit = [unit](const std::string&, const Shape&) { return unit; };
    OddRun oracle = run;
    oracle.grid = {};
    const OddResult expected = testing::train_odd(oracle);
    const OddResult result = testing::train_odd(run);
    for (std::size_t step = 0; step < expected.loss.size(); ++step) {
      EXPECT_NEAR(result.loss[step], expected.loss[step], 1e-12);
    }
    run_grid(run.grid, Memory::shared, [&](comm::MeshComms& comms) {
      ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms, run.sharding);
      for (const auto& [name, tensor] : model.state_dict().tensors) {
        const Shape& shape = tensor.spec.global_shape;
        const std::int64_t whole = unit == ShardUnit::row && shape.rank() > 0
                                       ? shape[static_cast<int>(shape.rank()) - 1]
                                       : shape.numel();
        if (whole > 0) {
          EXPECT_EQ(tensor.spec.offset % whole, 0) << name;
          EXPECT_EQ(tensor.spec.numel % whole, 0) << name;
        }
      }
    });
  }
}

float round_to(float value, DType dtype) {
  const Tensor wide = Tensor::zeros(Shape{1}, DType::f32);
  wide.data<float>()[0] = value;
  return to_dtype(to_dtype(wide, dtype), DType::f32).data<float>()[0];
}

/// One weight whose gradient on rank r is g(r): y = w * x_r, loss = sum y.
class OneWeight : public nn::Module {
 public:
  OneWeight() { weight_ = register_parameter("weight", {1, 1}, nn::InitSpec::ones()); }
  nn::Variable forward(const nn::Variable& x) override { return autograd::linear(x, weight_); }

 private:
  nn::Variable weight_;
};

/// The order of casts, spelled out: every rank's gradient rounded to reduce_dtype, a node's sum
/// rounded to it, then to cross_reduce_dtype, the nodes' sum rounded to that, added up over
/// micro-batches in accumulate_dtype.
float expected_gradient(const Grid& grid, const MixedPrecisionPolicy& policy, int micro_batches,
                        const std::function<float(int, int)>& gradient) {
  float main = 0.0F;
  for (int micro = 0; micro < micro_batches; ++micro) {
    float total = 0.0F;
    for (int node = 0; node < grid.nodes; ++node) {
      float sum = 0.0F;
      for (int local = 0; local < grid.local_size; ++local) {
        sum += round_to(gradient(local * grid.nodes + node, micro), policy.reduce());
      }
      sum = round_to(sum, policy.reduce());
      total += grid.nodes > 1 ? round_to(sum, policy.cross_reduce()) : sum;
    }
    total = grid.nodes > 1 ? round_to(total, policy.cross_reduce()) : total;
    main = round_to(main + total, policy.accumulate());
  }
  return main;
}

void expect_casts(const Grid& grid, Memory memory, ShardingStrategy strategy,
                  const MixedPrecisionPolicy& policy) {
  const auto gradient = [](int rank, int micro) {
    return 1.0F + 0.0137F * static_cast<float>(rank) + 0.31F * static_cast<float>(micro);
  };
  const float expected = expected_gradient(grid, policy, 2, gradient);
  run_grid(grid, memory, [&](comm::MeshComms& comms) {
    FullyShardOptions options;
    options.strategy = strategy;
    options.mixed_precision = policy;
    ShardedModel model = fully_shard(std::make_shared<OneWeight>(), comms, options);
    for (const int micro : {0, 1}) {
      const Tensor x = Tensor::zeros({1, 1}, DType::f32);
      x.data<float>()[0] = gradient(comms.world->rank(), micro);
      const nn::Variable y = model(nn::Variable(x));
      // d/dy of (y - (y0 - 0.5))^2 is 1: the weight's gradient is x itself.
      const Tensor target = y.data().clone();
      target.data<float>()[0] -= 0.5F;
      model.set_is_last_backward(micro == 1);
      model.backward(autograd::squared_error(y, target, 1.0));
    }
    static_cast<void>(model.clip_grad_norm(0.0));
    for (const ParameterShard& shard : model.parameters().shards()) {
      for (const ShardSegment& segment : shard.segments) {
        if (segment.count > 0) {
          EXPECT_EQ(values_of(shard.gradient)[static_cast<std::size_t>(segment.shard_begin)],
                    static_cast<double>(expected))
              << row(strategy).name << " on " << grid.nodes << "x" << grid.local_size;
        }
      }
    }
    comms.world->barrier();
  });
}

TEST(MixedPrecision, CastsComeInTheOrderThatIsDocumented) {
  for (const Memory memory : {Memory::shared, Memory::separate}) {
    for (const Grid& grid : {Grid{1, 3}, Grid{2, 2}, Grid{3, 1}}) {
      for (const StrategyRow& strategy : kStrategies) {
        if (strategy.gradients == Level::whole) {
          continue;  // micro-batches are added before anything is rounded
        }
        for (const MixedPrecisionPolicy& policy :
             {MixedPrecisionPolicy{}, MixedPrecisionPolicy{.reduce_dtype = DType::bf16},
              MixedPrecisionPolicy{.reduce_dtype = DType::f16},
              MixedPrecisionPolicy{.cross_reduce_dtype = DType::bf16},
              MixedPrecisionPolicy{.reduce_dtype = DType::bf16, .cross_reduce_dtype = DType::f32},
              MixedPrecisionPolicy{.accumulate_dtype = DType::bf16}}) {
          expect_casts(grid, memory, strategy.strategy, policy);
        }
      }
    }
  }
}

TEST(MixedPrecision, NarrowTypesStayNearF32) {
  for (const DType compute : {DType::bf16, DType::f16}) {
    for (const StrategyRow& strategy : kStrategies) {
      OddRun run;
      run.grid = {2, 2};
      run.sharding.strategy = strategy.strategy;
      run.sharding.mixed_precision = {.param_dtype = compute,
                                      .reduce_dtype = DType::bf16,
                                      .accumulate_dtype = DType::bf16,
                                      .output_dtype = DType::f32};
      OddRun oracle = run;
      oracle.grid = {};
      oracle.sharding.strategy = ShardingStrategy::no_shard;
      oracle.sharding.mixed_precision = {};
      const OddResult narrow = testing::train_odd(run);
      const OddResult exact = testing::train_odd(oracle);
      for (std::size_t step = 0; step < exact.loss.size(); ++step) {
        EXPECT_NEAR(narrow.loss[step], exact.loss[step], 0.03 * std::abs(exact.loss[step]));
      }
    }
  }
}

TEST(MixedPrecision, TheOutputIsCastWhereAsked) {
  comm::MeshComms comms = comm::make_self_comms();
  FullyShardOptions options;
  options.mixed_precision = {.param_dtype = DType::bf16, .output_dtype = DType::f32};
  ShardedModel model =
      fully_shard(std::make_shared<OddModel>(testing::OddModelOptions{}), comms, options);
  EXPECT_EQ(model(nn::Variable(testing::odd_rows(0, 1, 4, 0, DType::f32))).dtype(), DType::f32);
}

}  // namespace
}  // namespace sherd::fsdp
