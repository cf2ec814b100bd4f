// Errors in the middle of a step, ranks that do not agree.
#include <gtest/gtest.h>

#include <stdexcept>

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

/// Passes its input on; throws in forward or in backward when armed.
class Tripwire : public nn::Module {
 public:
  enum class Armed : std::uint8_t { no, forward, backward };
  nn::Variable forward(const nn::Variable& x) override {
    if (armed == Armed::forward) {
      throw std::runtime_error("forward tripped");
    }
    return autograd::record_one("tripwire", {x}, x.data(), {},
                                [this](autograd::BackwardContext& context) {
                                  if (armed == Armed::backward) {
                                    throw std::runtime_error("backward tripped");
                                  }
                                  context.pass(0, context.grad_output(0));
                                });
  }
  Armed armed = Armed::no;
};

/// Blocks with a tripwire between them.
class TrippingModel : public nn::Module {
 public:
  TrippingModel() {
    in_ = register_module("in", std::make_shared<nn::Linear>(4, 5, true, 0.5));
    blocks_ = std::make_shared<nn::ModuleList>();
    for (const std::int64_t hidden : {7, 3, 11}) {
      blocks_->push_back(std::make_shared<testing::OddBlock>(5, hidden, false));
    }
    register_module("blocks", blocks_);
    wire = register_module("wire", std::make_shared<Tripwire>());
    out_ = register_module("out", std::make_shared<nn::Linear>(5, 3, true, 0.5));
  }
  nn::Variable forward(const nn::Variable& x) override {
    nn::Variable y = (*blocks_)[1]((*blocks_)[0]((*in_)(x)));
    return (*out_)((*blocks_)[2]((*wire)(y)));
  }
  std::shared_ptr<Tripwire> wire;

 private:
  std::shared_ptr<nn::Linear> in_;
  std::shared_ptr<nn::ModuleList> blocks_;
  std::shared_ptr<nn::Linear> out_;
};

/// Losses of three steps; before the second, `trip` makes one go wrong on all ranks.
std::vector<double> losses(const Grid& grid, Memory memory, ShardingStrategy strategy,
                           Tripwire::Armed trip) {
  std::vector<double> all;
  OddRun run;
  run.grid = grid;
  run.micro_batches = 2;
  run.sharding.strategy = strategy;
  run.sharding.mixed_precision = kF64;
  testing::run_grid(grid, memory, [&](comm::MeshComms& comms) {
    const auto net = std::make_shared<TrippingModel>();
    ShardedModel model = fully_shard(net, comms, run.sharding);
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 0.02});
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      if (step == 1 && trip != Tripwire::Armed::no) {
        net->wire->armed = trip;
        EXPECT_THROW(testing::odd_step(run, model, step, comms.world->rank()), std::runtime_error);
        net->wire->armed = Tripwire::Armed::no;
        for (const auto& parameter : nn::named_parameters(*net)) {
          EXPECT_TRUE(parameter.value.data().is_meta()) << parameter.name;
        }
      }
      StepValues values{testing::odd_step(run, model, step, comms.world->rank()), 0.0};
      static_cast<void>(model.clip_grad_norm(0.5, &values));
      optimizer.step();
      if (comms.world->rank() == 0) {
        all.push_back(values.loss);
      }
    }
  });
  return all;
}

TEST(Recovery, TheStepAfterACaughtErrorEqualsTheOneWithout) {
  for (const StrategyRow& strategy : kStrategies) {
    for (const auto& [grid, memory] : {std::pair{Grid{1, 2}, Memory::shared},
                                       {Grid{2, 2}, Memory::shared},
                                       {Grid{2, 2}, Memory::separate}}) {
      const auto oracle = losses(grid, memory, strategy.strategy, Tripwire::Armed::no);
      for (const Tripwire::Armed trip : {Tripwire::Armed::forward, Tripwire::Armed::backward}) {
        EXPECT_EQ(losses(grid, memory, strategy.strategy, trip), oracle) << strategy.name;
      }
    }
  }
}

template <class Differ>
void expect_refused(const Differ& differ, const std::string& text) {
  testing::run_grid({1, 3}, Memory::shared, [&](comm::MeshComms& comms) {
    testing::OddModelOptions shape;
    FullyShardOptions options;
    if (comms.world->rank() == 2) {
      differ(shape, options);
    }
    try {
      static_cast<void>(fully_shard(std::make_shared<OddModel>(shape), comms, options));
      ADD_FAILURE() << "no error on rank " << comms.world->rank();
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("rank 2 has " + text), std::string::npos)
          << error.what();
    }
  });
}

TEST(Agreement, RanksWithOtherModulesOrOptionsAreNamedOnAllRanks) {
  expect_refused([](auto& shape, auto&) { shape.hidden[1] = 4; },
                 "parameter blocks.1.first.weight [4, 5] f32 where rank 0 has parameter "
                 "blocks.1.first.weight [3, 5] f32");
  expect_refused([](auto& shape, auto&) { shape.freeze = true; }, "parameter");
  expect_refused([](auto&, auto& options) { options.seed = 7; }, "seed 7 where rank 0 has seed 0");
  expect_refused([](auto&, auto& options) { options.strategy = ShardingStrategy::no_shard; },
                 "strategy NO_SHARD");
}

}  // namespace
}  // namespace sherd::fsdp
