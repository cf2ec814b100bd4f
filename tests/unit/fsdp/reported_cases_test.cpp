// What users of other systems reported. docs/sharding-cases.md has the numbers and the other cases.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <mutex>

#include "f64_policy.hpp"
#include "sherd/models/llama.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using autograd::BackwardContext;
using testing::Grid;
using testing::Memory;
using testing::OddBlock;
using testing::OddModel;
using testing::OddResult;
using testing::OddRun;
using testing::run_grid;

constexpr int kParts = 8;

/// A model, and what part `part` of a step's data loses.
template <class Net>
struct Problem {
  std::function<std::shared_ptr<Net>()> make;
  std::function<nn::Variable(ShardedModel&, Net&, int step, int part)> loss;
};

/// The loss of one row of made-up data.
nn::Variable row_loss(ShardedModel& model, int step, int part) {
  const std::int64_t row = step * kParts + part;
  const nn::Variable y = model(nn::Variable(testing::odd_rows(row, 1, 4, 0, DType::f64)));
  return autograd::squared_error(y, testing::odd_rows(row, 1, 3, 5, DType::f64), 1.0 / kParts);
}

/// Three steps on kParts parts of data, shared out over the ranks: one each on eight, eight
/// micro-batches on one.
template <class Net>
OddResult train(const Problem<Net>& problem, const Grid& grid, ShardingStrategy strategy) {
  OddResult result;
  std::mutex mutex;
  run_grid(grid, Memory::shared, [&](comm::MeshComms& comms) {
    const int rank = comms.world->rank();
    const auto net = problem.make();
    FullyShardOptions options;
    options.strategy = strategy;
    options.mixed_precision = kF64;
    ShardedModel model = fully_shard(net, comms, options);
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 0.02, .weight_decay = 0.1});
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      StepValues values;
      for (int part = rank; part < kParts; part += grid.ranks()) {
        const nn::Variable loss = problem.loss(model, *net, step, part);
        values.loss += *loss.data().template data<double>();
        model.set_is_last_backward(part + grid.ranks() >= kParts);
        model.backward(loss);
      }
      static_cast<void>(model.clip_grad_norm(0.5, &values));
      optimizer.step();
      const std::lock_guard lock(mutex);
      if (rank == 0) {
        result.loss.push_back(values.loss);
      }
    }
    const std::lock_guard lock(mutex);
    testing::collect(model, result);
  });
  return result;
}

void expect_close(const OddResult& result, const OddResult& oracle, const std::string& what) {
  for (std::size_t step = 0; step < oracle.loss.size(); ++step) {
    EXPECT_NEAR(result.loss[step], oracle.loss[step], 1e-12) << what;
  }
  ASSERT_EQ(result.parameters.size(), oracle.parameters.size()) << what;
  for (const auto& [name, values] : oracle.parameters) {
    double most = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      most = std::max(most, std::abs(result.parameters.at(name).at(i) - values[i]));
    }
    EXPECT_LE(most, 1e-11) << name << ", " << what;
  }
}

/// The same on one rank and on meshes, under every strategy.
template <class Net>
void expect_like_one_rank(const Problem<Net>& problem) {
  const OddResult oracle = train(problem, {}, ShardingStrategy::no_shard);
  for (const StrategyRow& strategy : kStrategies) {
    for (const Grid& grid : {Grid{1, 4}, Grid{4, 2}}) {
      expect_close(train(problem, grid, strategy.strategy), oracle, std::string(strategy.name));
    }
  }
}

/// Token ids to logits with one table on both sides.
class TiedNet : public nn::Module {
 public:
  TiedNet(std::int64_t vocab, std::int64_t dim) {
    embed_ = register_module("embed", std::make_shared<nn::Embedding>(vocab, dim, 0.3));
    head_ = register_module("head", std::make_shared<nn::TiedLinear>(embed_->weight()));
  }
  nn::Variable forward(const nn::Variable& ids) override {
    return (*head_)(autograd::activation(kernel::Activation::tanh, (*embed_)(ids)));
  }

 private:
  std::shared_ptr<nn::Embedding> embed_;
  std::shared_ptr<nn::TiedLinear> head_;
};

Problem<TiedNet> tied_problem(std::int64_t vocab) {
  return {[vocab] { return std::make_shared<TiedNet>(vocab, 3); },
          [vocab](ShardedModel& model, TiedNet&, int step, int part) {
            const Tensor ids = Tensor::empty({1, 2}, DType::i32);
            const Tensor targets = Tensor::empty({1, 2}, DType::i32);
            for (int i = 0; i < 2; ++i) {
              const std::int64_t at = step * 31 + part * 7 + i;
              ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(at % vocab);
              targets.data<std::int32_t>()[i] = static_cast<std::int32_t>((vocab - 1 - at) % vocab);
            }
            if (vocab < 31) {
              targets.fill_zero();
            }
            return autograd::cross_entropy(model(nn::Variable(ids)), targets, 1.0 / kParts);
          }};
}

// 8
TEST(ReportedCases, EveryRowOfATiedTableOfUnevenRowsIsTrained) {
  expect_like_one_rank(tied_problem(7));
  const Problem<TiedNet> large = tied_problem(50257);
  const OddResult oracle = train(large, {}, ShardingStrategy::no_shard);
  const auto untouched = large.make();
  nn::materialize(*untouched, 0, DType::f64);
  const auto before = nn::named_parameters(*untouched).front().value.data().span<double>();
  const std::vector<double>& after = oracle.parameters.at("model.embed.weight");
  for (std::size_t row = 0; row < 50257; ++row) {
    ASSERT_NE(after[3 * row], before[3 * row]) << "row " << row;
  }
  for (const Grid& grid : {Grid{1, 4}, Grid{4, 2}}) {
    expect_close(train(large, grid, ShardingStrategy::full_shard), oracle, "50257 rows");
  }
}

/// x * gain, with a gain that has no dimensions.
class Gain : public nn::Module {
 public:
  Gain() { gain_ = register_parameter("gain", Shape{}, nn::InitSpec::ones()); }
  nn::Variable forward(const nn::Variable& x) override {
    const Tensor y = x.data().clone();
    kernel::scale_into(*gain_.data().data<double>(), x.data(), y, kernel::Write::overwrite);
    return autograd::record_one("gain", {x, gain_}, y, {x.data(), gain_.data()}, backward);
  }

 private:
  static void backward(BackwardContext& context) {
    const Tensor& dy = context.grad_output(0);
    const Tensor x = context.saved(0);
    const Tensor dx = dy.clone();
    kernel::scale_into(*context.saved(1).data<double>(), dy, dx, kernel::Write::overwrite);
    const Tensor dgain = Tensor::zeros(Shape{}, DType::f64);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      *dgain.data<double>() += dy.data<double>()[i] * x.data<double>()[i];
    }
    context.pass(0, dx);
    context.pass(1, dgain);
  }
  nn::Variable gain_;
};

/// Gives its input back as it is; has a parameter that nothing uses.
class Passing : public nn::Module {
 public:
  Passing() { idle_ = register_parameter("idle", {3}, nn::InitSpec::ones()); }
  nn::Variable forward(const nn::Variable& x) override { return x; }

 private:
  nn::Variable idle_;
};

/// Blocks of every odd kind between an input and an output layer.
class OddBlocks : public nn::Module {
 public:
  OddBlocks() {
    in_ = register_module("in", std::make_shared<nn::Linear>(4, 5, true, 0.5));
    blocks_ = std::make_shared<nn::ModuleList>();
    register_module("blocks", blocks_);
    out_ = register_module("out", std::make_shared<nn::Linear>(5, 3, true, 0.5));
  }
  void add(std::shared_ptr<nn::Module> block) { blocks_->push_back(std::move(block)); }
  nn::Variable forward(const nn::Variable& x) override {
    nn::Variable y = (*in_)(x);
    for (std::size_t i = 0; i < blocks_->size(); ++i) {
      const nn::Variable result = (*blocks_)[i](y);
      y = i == thrown_away ? y : result;
    }
    return (*out_)(y);
  }
  std::size_t thrown_away = 99;  ///< the block whose result goes nowhere

 private:
  std::shared_ptr<nn::Linear> in_;
  std::shared_ptr<nn::ModuleList> blocks_;
  std::shared_ptr<nn::Linear> out_;
};

Problem<OddBlocks> blocks_problem(const std::function<void(OddBlocks&)>& fill) {
  return {[fill] {
            auto net = std::make_shared<OddBlocks>();
            fill(*net);
            return net;
          },
          [](ShardedModel& model, OddBlocks&, int step, int part) {
            return row_loss(model, step, part);
          }};
}

// 10
TEST(ReportedCases, AParameterWithoutDimensionsTrains) {
  const auto problem = blocks_problem([](OddBlocks& net) {
    net.add(std::make_shared<Gain>());
    net.add(std::make_shared<OddBlock>(5, 7, false));
  });
  expect_like_one_rank(problem);
  const OddResult trained = train(problem, {1, 4}, ShardingStrategy::full_shard);
  ASSERT_EQ(trained.parameters.at("model.blocks.0.gain").size(), 1U);
  EXPECT_NE(trained.parameters.at("model.blocks.0.gain")[0], 1.0);
}

// 47
TEST(ReportedCases, ABlockMayGiveItsInputBack) {
  expect_like_one_rank(blocks_problem([](OddBlocks& net) {
    net.add(std::make_shared<Passing>());
    net.add(std::make_shared<OddBlock>(5, 3, false));
    net.add(std::make_shared<Passing>());
  }));
}

// 58
TEST(ReportedCases, OneWeightMayServeTwoBlocks) {
  expect_like_one_rank(blocks_problem([](OddBlocks& net) {
    const auto first = std::make_shared<nn::Linear>(5, 5, false, 0.4);
    net.add(first);
    net.add(std::make_shared<OddBlock>(5, 3, false));
    net.add(std::make_shared<nn::TiedLinear>(first->weight()));
  }));
}

// 38
TEST(ReportedCases, AGroupThatBackwardNeverCameToIsGatheredAnewAfterTheStep) {
  Problem<OddBlocks> problem = blocks_problem([](OddBlocks& net) {
    for (const std::int64_t hidden : {7, 3, 11}) {
      net.add(std::make_shared<OddBlock>(5, hidden, false));
    }
  });
  problem.loss = [](ShardedModel& model, OddBlocks& net, int step, int part) {
    net.thrown_away = step == 1 ? 99 : 1;
    return row_loss(model, step, part);
  };
  expect_like_one_rank(problem);
}

/// A second layer that only some parts of the data go through.
class SometimesNet : public nn::Module {
 public:
  SometimesNet() {
    always_ = register_module("always", std::make_shared<nn::Linear>(4, 3, true, 0.5));
    sometimes_ = register_module("sometimes", std::make_shared<nn::Linear>(4, 3, true, 0.5));
  }
  nn::Variable forward(const nn::Variable& x) override {
    const nn::Variable y = (*always_)(x);
    return use ? autograd::add(y, (*sometimes_)(x)) : y;
  }
  bool use = true;

 private:
  std::shared_ptr<nn::Linear> always_;
  std::shared_ptr<nn::Linear> sometimes_;
};

// 12
TEST(ReportedCases, AParameterMayHaveNoGradientOnSomeRanks) {
  expect_like_one_rank(
      Problem<SometimesNet>{[] { return std::make_shared<SometimesNet>(); },
                            [](ShardedModel& model, SometimesNet& net, int step, int part) {
                              net.use = part % 3 == 1;
                              return row_loss(model, step, part);
                            }});
}

// 18
TEST(ReportedCases, ASecondStepOnTheSameDataIsTheFirstAgain) {
  for (const StrategyRow& strategy : kStrategies) {
    run_grid({2, 2}, Memory::shared, [&](comm::MeshComms& comms) {
      OddRun run;
      run.grid = {2, 2};
      run.micro_batches = 2;
      run.sharding.strategy = strategy.strategy;
      ShardedModel model = fully_shard(std::make_shared<OddModel>(run.model), comms, run.sharding);
      std::vector<double> norms;
      std::vector<double> losses;
      for (int again = 0; again < 3; ++again) {
        model.parameters().zero_grad();
        StepValues values{testing::odd_step(run, model, 0, comms.world->rank()), 0.0};
        norms.push_back(model.clip_grad_norm(0.0, &values));
        losses.push_back(values.loss);
      }
      EXPECT_EQ(norms, std::vector<double>(3, norms.front())) << strategy.name;
      EXPECT_EQ(losses, std::vector<double>(3, losses.front())) << strategy.name;
      EXPECT_GT(norms.front(), 0.0);
      comms.world->barrier();
    });
  }
}

// 20
TEST(ReportedCases, OneRankIsPlainTraining) {
  constexpr double kRate = 0.05;
  OddRun run;
  OddModel plain(run.model);
  nn::materialize(plain, run.sharding.seed, DType::f64);
  const nn::Variable y =
      plain(nn::Variable(testing::odd_rows(0, testing::kOddBatch, 4, 0, DType::f64)));
  autograd::backward(
      autograd::squared_error(y, testing::odd_rows(0, testing::kOddBatch, 3, 5, DType::f64),
                              1.0 / static_cast<double>(testing::kOddBatch)));
  for (const StrategyRow& strategy : kStrategies) {
    run.steps = 1;
    run.momentum = 0.0;
    run.max_norm = 0.0;
    run.sharding.strategy = strategy.strategy;
    run.sharding.mixed_precision = kF64;
    const OddResult result = testing::train_odd(run);
    for (const nn::NamedParameter& parameter : nn::named_parameters(plain)) {
      const nn::Variable& value = parameter.value;
      const Tensor& gradient = value.grad();
      for (std::int64_t i = 0; i < value.data().numel(); ++i) {
        const double moved = gradient.defined() ? kRate * gradient.data<double>()[i] : 0.0;
        EXPECT_NEAR(result.parameters.at("model." + parameter.name).at(static_cast<std::size_t>(i)),
                    value.data().data<double>()[i] - moved, 1e-14)
            << parameter.name;
      }
    }
  }
}

// 21
TEST(ReportedCases, NarrowGradientsMayBeAccumulatedInEveryMode) {
  OddRun run;
  run.steps = 1;
  run.sharding.strategy = ShardingStrategy::no_shard;
  const double exact = testing::train_odd(run).norm.front();
  for (const StrategyRow& strategy : kStrategies) {
    for (const Accumulation mode :
         {Accumulation::reduce_each, Accumulation::defer_all_reduce, Accumulation::no_sync}) {
      if (mode == Accumulation::defer_all_reduce && strategy.gradients == Level::whole) {
        continue;
      }
      run.grid = {2, 2};
      run.micro_batches = 3;
      run.sharding.strategy = strategy.strategy;
      run.sharding.accumulation = mode;
      run.sharding.mixed_precision = {.param_dtype = DType::bf16, .reduce_dtype = DType::bf16};
      EXPECT_NEAR(testing::train_odd(run).norm.front(), exact, 0.03 * exact) << strategy.name;
    }
  }
}

/// Gathers of a step of a small Llama; afterwards every group must have been given back.
std::int64_t gathers_of_a_step(ShardingStrategy strategy,
                               std::optional<autograd::Recompute> recompute) {
  std::int64_t gathers = 0;
  run_grid({2, 2}, Memory::shared, [&](comm::MeshComms& comms) {
    models::LlamaConfig config;
    config.vocab_size = 11;
    config.hidden_size = 16;
    config.intermediate_size = 24;
    config.num_hidden_layers = 3;
    FullyShardOptions options;
    options.strategy = strategy;
    const auto net = std::make_shared<models::Llama>(config, recompute);
    ShardedModel model = fully_shard(net, comms, options);
    for (int step = 0; step < 2; ++step) {
      const std::int64_t before = model.counters().gathers;
      const Tensor ids = Tensor::zeros({1, 5}, DType::i32);
      model.backward(autograd::cross_entropy(model(nn::Variable(ids)), ids, 0.1));
      static_cast<void>(model.clip_grad_norm(1.0));
      model.parameters().zero_grad();
      for (const nn::NamedParameter& parameter : nn::named_parameters(*net)) {
        EXPECT_TRUE(parameter.value.data().is_meta()) << parameter.name;
      }
      EXPECT_EQ(model.memory(), model.plan().memory);
      if (comms.world->rank() == 0) {
        gathers = model.counters().gathers - before;
      }
    }
    comms.world->barrier();
  });
  return gathers;
}

// 40, 41: three blocks and a root; the last block of forward stays for backward.
TEST(ReportedCases, CheckpointingGathersNothingTwiceAndGivesEverythingBack) {
  for (const auto recompute :
       {std::optional<autograd::Recompute>(), std::optional(autograd::Recompute::reentrant),
        std::optional(autograd::Recompute::non_reentrant)}) {
    EXPECT_EQ(gathers_of_a_step(ShardingStrategy::full_shard, recompute), 1 + 3 + 2);
    EXPECT_EQ(gathers_of_a_step(ShardingStrategy::shard_grad_op, recompute), 1 + 3);
    EXPECT_EQ(gathers_of_a_step(ShardingStrategy::hybrid_shard, recompute), 1 + 3 + 2);
  }
}

// 43
TEST(ReportedCases, FrozenParametersTakeNoGradientMemory) {
  for (const StrategyRow& strategy : kStrategies) {
    testing::OddModelOptions shape{.dim = 64, .hidden = {256, 256}};
    FullyShardOptions options;
    options.strategy = strategy.strategy;
    const PlanInput input{.nodes = 2, .local_size = 2};
    OddModel trained(shape);
    shape.freeze = true;
    OddModel frozen(shape);
    const ShardingPlan all = plan_sharding(trained, options, input);
    const ShardingPlan some = plan_sharding(frozen, options, input);
    // Half of each block's elements are frozen.
    EXPECT_LT(some.memory.gradients, all.memory.gradients * 11 / 20) << strategy.name;
    EXPECT_LT(some.memory.optimizer_state, all.memory.optimizer_state * 11 / 20) << strategy.name;
    EXPECT_NEAR(static_cast<double>(some.memory.parameters),
                static_cast<double>(all.memory.parameters), 4096.0);
    EXPECT_LE(some.memory.reduction_slots, all.memory.reduction_slots) << strategy.name;
  }
}

}  // namespace
}  // namespace sherd::fsdp
