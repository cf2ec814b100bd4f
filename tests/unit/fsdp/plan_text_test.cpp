#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/nn/layers.hpp"

namespace sherd::fsdp {
namespace {

/// Two blocks of 16 + 4 parameters, and 4 of the root's.
class Small : public nn::Module {
 public:
  Small() {
    for (int i = 0; i < 2; ++i) {
      blocks_->push_back(std::make_shared<nn::Linear>(4, 4, true, 0.5));
    }
  }
  nn::Variable forward(const nn::Variable& x) override { return (*head_)((*blocks_)(x)); }

 private:
  std::shared_ptr<nn::ModuleList> blocks_ =
      register_module("blocks", std::make_shared<nn::ModuleList>());
  std::shared_ptr<nn::Linear> head_ =
      register_module("head", std::make_shared<nn::Linear>(4, 1, false, 0.5));
};

std::string printed_plan(int nodes, int local_size) {
  Small module;
  return print_sharding_plan(plan_sharding(module, {}, {.nodes = nodes, .local_size = local_size}));
}

TEST(PrintShardingPlan, OneRankMovesNothing) {
  EXPECT_EQ(printed_plan(1, 1),
            R"(group                       parameters     trainable          buffer           piece
root                                 4             4              16              16
blocks.0                            20            20              32              32
blocks.1                            20            20              32              32

phase     level  collective      group                   dtype  ranks           bytes  times

slot                               bytes  once per groups

bytes of one rank
  parameters                         320
  compute_parameters                   0
  gradients                          320
  partial_gradients                    0
  optimizer_state                    640
  gather_slots                         0
  reduction_slots                      0
  cross_slots                          0
  ignored                              0
  total                             1280
)");
}

TEST(PrintShardingPlan, TwoRanksOfANodeGatherAndReduceInside) {
  EXPECT_EQ(printed_plan(1, 2),
            R"(group                       parameters     trainable          buffer           piece
root                                 4             4              32              16
blocks.0                            20            20              32              16
blocks.1                            20            20              32              16

phase     level  collective      group                   dtype  ranks           bytes  times
forward   node   all_gather      root                    f32        2              64      1
forward   node   all_gather      blocks.0                f32        2              64      1
forward   node   all_gather      blocks.1                f32        2              64      1
backward  node   reduce_scatter  blocks.1                f32        2              64      1
backward  node   all_gather      blocks.0                f32        2              64      1
backward  node   reduce_scatter  blocks.0                f32        2              64      1
backward  node   reduce_scatter  root                    f32        2              64      1

slot                               bytes  once per groups
reduction 0                          128  rank     1
reduction 1                          128  rank     1
reduction root                       128  rank     1

bytes of one rank
  parameters                         192
  compute_parameters                   0
  gradients                          192
  partial_gradients                    0
  optimizer_state                    384
  gather_slots                         0
  reduction_slots                    384
  cross_slots                          0
  ignored                              0
  total                             1152
)");
}

TEST(PrintShardingPlan, ThreeNodesHaveSlotsForWhatComesAndGoes) {
  EXPECT_EQ(printed_plan(3, 1),
            R"(group                       parameters     trainable          buffer           piece
root                                 4             4              48              16
blocks.0                            20            20              48              16
blocks.1                            20            20              48              16

phase     level  collective      group                   dtype  ranks           bytes  times
forward   cross  all_gather      root                    f32        3              64      1
forward   cross  all_gather      blocks.0                f32        3              64      1
forward   cross  all_gather      blocks.1                f32        3              64      1
backward  cross  reduce_scatter  blocks.1                f32        3              64      1
backward  cross  all_gather      blocks.0                f32        3              64      1
backward  cross  reduce_scatter  blocks.0                f32        3              64      1
backward  cross  reduce_scatter  root                    f32        3              64      1

slot                               bytes  once per groups
gather 0                             192  node     1
gather 1                             192  node     1
gather root                          192  node     1
reduction 0                          192  rank     1
reduction 1                          192  rank     1
reduction root                       192  rank     1
cross 0                              192  rank     1
cross 1                              192  rank     1
cross root                           192  rank     1

bytes of one rank
  parameters                         192
  compute_parameters                   0
  gradients                          192
  partial_gradients                    0
  optimizer_state                    384
  gather_slots                       576
  reduction_slots                    576
  cross_slots                        576
  ignored                              0
  total                             2496
)");
}

/// What every rank of the mesh prints must be `expected`.
void expect_summary(int nodes, int local_size, const std::string& expected) {
  comm::run_inproc_mesh(nodes, local_size, [&](comm::MeshComms& comms) {
    const ShardedModel model = fully_shard(std::make_shared<Small>(), comms);
    EXPECT_EQ(memory_summary(model, 1000), expected);
  });
}

TEST(MemorySummary, OneRankHoldsWhatWasPlanned) {
  expect_summary(1, 1, R"(bytes of this rank                held         planned
parameters                         320             320
compute_parameters                   0               0
gradients                          320             320
partial_gradients                    0               0
optimizer_state                   1000            1000
gather_slots                         0               0
reduction_slots                      0               0
cross_slots                          0               0
ignored                              0               0
total                             1640            1640
)");
}

TEST(MemorySummary, TwoRanksOfANodeHoldWhatWasPlanned) {
  expect_summary(1, 2, R"(bytes of this rank                held         planned
parameters                         192             192
compute_parameters                   0               0
gradients                          192             192
partial_gradients                    0               0
optimizer_state                   1000            1000
gather_slots                         0               0
reduction_slots                    384             384
cross_slots                          0               0
ignored                              0               0
total                             1768            1768
)");
}

TEST(MemorySummary, ThreeNodesHoldWhatWasPlanned) {
  expect_summary(3, 1, R"(bytes of this rank                held         planned
parameters                         192             192
compute_parameters                   0               0
gradients                          192             192
partial_gradients                    0               0
optimizer_state                   1000            1000
gather_slots                       576             576
reduction_slots                    576             576
cross_slots                        576             576
ignored                              0               0
total                             3112            3112
)");
}

}  // namespace
}  // namespace sherd::fsdp
