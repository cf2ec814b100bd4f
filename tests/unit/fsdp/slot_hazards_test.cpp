// No slot is written before its last reader is done, whatever the ranks' speeds: every use of
// memory that several ranks or operations share is checked with vector clocks, under random delays.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <tuple>

#include "sherd/autograd/function.hpp"
#include "support/audited_comms.hpp"
#include "support/sanitizer.hpp"
#include "unit/fsdp/odd_training.hpp"

namespace sherd::fsdp {
namespace {

using testing::Deafness;
using testing::Grid;
using testing::Memory;
using testing::OddResult;
using testing::OddRun;

enum class Trip : std::uint8_t { no, forward, backward };

/// An OddModel that throws behind its first blocks, in forward or in backward, when told to.
class TrippingModel : public testing::OddModel {
 public:
  using OddModel::OddModel;
  nn::Variable forward(const nn::Variable& x) override {
    const nn::Variable y = OddModel::forward(x);
    if (trip == Trip::forward) {
      throw std::runtime_error("forward tripped");
    }
    return autograd::record_one("trip", {y}, y.data(), {},
                                [this](autograd::BackwardContext& context) {
                                  if (trip == Trip::backward) {
                                    throw std::runtime_error("backward tripped");
                                  }
                                  context.pass(0, context.grad_output(0));
                                });
  }
  Trip trip = Trip::no;
};

/// Reports the optimizer's writes: they begin when begin_update() returns.
class AuditedParameters : public ShardedParameters {
 public:
  explicit AuditedParameters(ShardedParameters& inner) : inner_(inner) {}
  std::span<const ParameterShard> shards() const override { return inner_.shards(); }
  double grad_scale() const override { return inner_.grad_scale(); }
  void begin_update() override {
    inner_.begin_update();
    for (const ParameterShard& shard : shards()) {
      audit_begin(Access::write, shard.parameter);
      if (shard.compute.defined()) {
        audit_begin(Access::write, shard.compute);
      }
    }
  }
  void end_update(std::size_t index) override {
    const ParameterShard& shard = shards()[index];
    audit_end(Access::write, shard.parameter);
    if (shard.compute.defined()) {
      audit_end(Access::write, shard.compute);
    }
    inner_.end_update(index);
  }
  void zero_grad() override { inner_.zero_grad(); }

 private:
  ShardedParameters& inner_;
};

struct Hazards {
  OddRun run;
  Trip trip = Trip::no;     ///< in the second step, which is then done again
  bool look_first = false;  ///< a forward without gradients between the norm and the update
  Deafness deaf = {};
};

struct Outcome {
  OddResult result;
  std::vector<std::string> violations;
  std::size_t uses = 0;
};

void look(ShardedModel& model) {
  const autograd::GradMode off(false);
  static_cast<void>(model(nn::Variable(testing::odd_rows(0, 2, 4, 0, DType::f64))));
}

/// Every second step is clipped; the others leave it to begin_update() to wait for the ranks. A
/// forward without gradients follows every step.
void train_one(const Hazards& hazards, int rank, TrippingModel& net, ShardedModel& model,
               OddResult& result) {
  AuditedParameters parameters(model.parameters());
  optim::AdamW optimizer(parameters, {.learning_rate = 0.02});
  for (int step = 0; step < hazards.run.steps; ++step) {
    net.set_order(hazards.run.orders[static_cast<std::size_t>(step)]);
    optimizer.zero_grad();
    if (step == 1 && hazards.trip != Trip::no) {
      net.trip = hazards.trip;
      EXPECT_THROW(testing::odd_step(hazards.run, model, step, rank), std::runtime_error);
      net.trip = Trip::no;
    }
    StepValues values{testing::odd_step(hazards.run, model, step, rank), 0.0};
    if (step % 2 == 0) {
      const double norm = model.clip_grad_norm(hazards.run.max_norm, &values);
      if (rank == 0) {
        result.loss.push_back(values.loss);
        result.norm.push_back(norm);
      }
    }
    if (hazards.look_first) {
      look(model);
    }
    optimizer.step();
    look(model);
  }
}

/// `seed` 0: without delays.
Outcome train(const Hazards& hazards, std::uint64_t seed) {
  Outcome outcome;
  std::mutex mutex;
  testing::HappensBefore checker(hazards.run.grid.ranks(), seed);
  testing::run_grid(hazards.run.grid, hazards.run.memory, [&](comm::MeshComms& comms) {
    const int rank = comms.world->rank();
    testing::AuditedRank audited{checker, rank, hazards.deaf};
    testing::audit(comms, audited);
    const testing::ScopedSlotAudit audit(audited);
    const auto net = std::make_shared<TrippingModel>(hazards.run.model);
    ShardedModel model = fully_shard(net, comms, hazards.run.sharding);
    train_one(hazards, rank, *net, model, outcome.result);
    const std::lock_guard lock(mutex);
    testing::collect(model, outcome.result);
  });
  outcome.violations = checker.violations();
  outcome.uses = checker.uses();
  return outcome;
}

Hazards hazards_of(ShardingStrategy strategy, const Grid& grid, Memory memory) {
  Hazards hazards;
  hazards.run.grid = grid;
  hazards.run.memory = memory;
  hazards.run.steps = 3;
  hazards.run.micro_batches = 2;
  hazards.run.orders = {{0, 1, 2}, {2, 0, 1}, {1, 1, 0}};
  hazards.run.sharding.strategy = strategy;
  hazards.run.sharding.mixed_precision = {.param_dtype = DType::f64, .master_dtype = DType::f64};
  return hazards;
}

/// Looks for violations and other bits than `same` has.
void expect_clean(const Outcome& outcome, const OddResult& same, const std::string& what) {
  EXPECT_TRUE(outcome.violations.empty())
      << what << ": " << outcome.violations.size() << ", first: " << outcome.violations.front();
  EXPECT_GT(outcome.uses, 0U) << what;
  EXPECT_EQ(outcome.result.loss, same.loss) << what;
  EXPECT_EQ(outcome.result.norm, same.norm) << what;
  EXPECT_EQ(outcome.result.parameters, same.parameters) << what;
}

using Case = std::tuple<Grid, Memory, ShardingStrategy>;

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const StrategyRow& strategy : kStrategies) {
    for (const Grid& grid : {Grid{2, 2}, Grid{1, 3}, Grid{3, 2}}) {
      all.emplace_back(grid, Memory::shared, strategy.strategy);
      if (testing::kSanitized) {
        break;
      }
    }
  }
  // Memory of their own: what may collide are a rank and its own operations.
  all.emplace_back(Grid{2, 2}, Memory::separate, ShardingStrategy::hybrid_shard);
  return all;
}

class SlotHazards : public ::testing::TestWithParam<Case> {
 protected:
  Hazards hazards() const {
    const auto& [grid, memory, strategy] = GetParam();
    return hazards_of(strategy, grid, memory);
  }
};

/// What is kept changes no bit, and delays must not either.
TEST_P(SlotHazards, NoneWhateverIsKeptOrAccumulated) {
  for (const Accumulation mode :
       {Accumulation::reduce_each, Accumulation::defer_all_reduce, Accumulation::no_sync}) {
    Hazards one = hazards();
    if (mode == Accumulation::defer_all_reduce &&
        row(one.run.sharding.strategy).gradients == Level::whole) {
      continue;  // refused, as another test shows
    }
    one.run.sharding.accumulation = mode;
    one.run.micro_batches = mode == Accumulation::no_sync ? 3 : 2;
    std::optional<Outcome> first;
    for (const ReshardAfterForward reshard :
         {ReshardAfterForward::by_strategy, ReshardAfterForward::never,
          ReshardAfterForward::node}) {
      one.run.sharding.reshard_after_forward = reshard;
      one.run.sharding.reshard_after_backward = reshard != ReshardAfterForward::never;
      one.run.sharding.reduction_slots = reshard == ReshardAfterForward::node ? 1 : 2;
      const Outcome outcome = train(one, first ? 7 : 0);
      if (!first) {
        first = outcome;
      }
      expect_clean(outcome, first->result,
                   "accumulation " + std::to_string(static_cast<int>(mode)) + ", reshard " +
                       std::to_string(static_cast<int>(reshard)));
    }
  }
}

TEST_P(SlotHazards, NoneAfterAnError) {
  const Outcome without = train(hazards(), 0);
  for (const Trip trip : {Trip::forward, Trip::backward}) {
    Hazards one = hazards();
    one.trip = trip;
    expect_clean(train(one, 11), without.result, trip == Trip::forward ? "forward" : "backward");
  }
}

TEST_P(SlotHazards, NoneWhereAForwardComesBetweenNormAndUpdate) {
  Hazards one = hazards();
  one.look_first = true;
  expect_clean(train(one, 17), train(one, 0).result, "looked");
}

TEST_P(SlotHazards, NoneWithNarrowParametersAndGradients) {
  Hazards one = hazards();
  one.run.sharding.mixed_precision = {.param_dtype = DType::bf16, .reduce_dtype = DType::bf16};
  one.run.sharding.prefetch_depth = 2;
  expect_clean(train(one, 13), train(one, 0).result, "bf16");
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const auto& [grid, memory, strategy] = info.param;
  return std::string(row(strategy).name) + "_" + std::to_string(grid.nodes) + "x" +
         std::to_string(grid.local_size) + (memory == Memory::shared ? "_shared" : "_separate");
}

INSTANTIATE_TEST_SUITE_P(All, SlotHazards, ::testing::ValuesIn(cases()), name_of);

// ------------------------------------------------- that the checker sees what it is there to see

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

/// The waits for one of the two counters a board keeps of everything.
Deafness deaf_to(const char* label, bool second) {
  return {.board = [label, second](const std::string& what, std::size_t slot, std::size_t slots) {
    return starts_with(what, label) && (slot >= slots / 2) == second;
  }};
}

/// Violations when the ranks do not hear what they wait for.
std::size_t violations_without(const Grid& grid, const Deafness& deaf) {
  Hazards hazards = hazards_of(ShardingStrategy::full_shard, grid, Memory::shared);
  hazards.run.sharding.reduction_slots = 1;
  hazards.deaf = deaf;
  return train(hazards, 0).violations.size();
}

TEST(SlotChecker, SeesAGatherThatDoesNotWaitUntilItsSlotIsGivenBack) {
  EXPECT_GT(violations_without({2, 2}, deaf_to("all_gather", true)), 0U);
}

TEST(SlotChecker, SeesAGatherThatDoesNotWaitForTheOthersShares) {
  EXPECT_GT(violations_without({2, 2}, deaf_to("all_gather", false)), 0U);
}

TEST(SlotChecker, SeesAGatherThatDoesNotWaitForTheOthersUpdates) {
  const Deafness deaf{.board = [](const std::string& what, std::size_t, std::size_t) {
    return starts_with(what, "all_gather");
  }};
  EXPECT_GT(violations_without({1, 3}, deaf), 0U);
}

TEST(SlotChecker, SeesASumThatDoesNotWaitForTheOthersGradients) {
  EXPECT_GT(violations_without({1, 3}, deaf_to("reduce_scatter", false)), 0U);
}

TEST(SlotChecker, SeesABackwardThatDoesNotWaitUntilItsSlotIsRead) {
  EXPECT_GT(violations_without({1, 3}, deaf_to("reduce_scatter", true)), 0U);
}

TEST(SlotChecker, SeesAnUpdateThatDoesNotWaitForTheOthersBackward) {
  EXPECT_GT(violations_without({1, 3}, {.board = nullptr, .world = true}), 0U);
}

}  // namespace
}  // namespace sherd::fsdp
