#include <gtest/gtest.h>

#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/io/full_state.hpp"
#include "sherd/nn/layers.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// The engine's state_dict() in all forms: saved from one strategy, loaded into another.
namespace sherd::io::test {
namespace {

fsdp::ShardedModel make_model(comm::MeshComms& comms, fsdp::ShardingStrategy strategy,
                              std::uint64_t seed) {
  auto list = std::make_shared<nn::ModuleList>();
  list->push_back(std::make_shared<nn::Linear>(7, 5));
  list->push_back(std::make_shared<nn::Linear>(5, 3));
  fsdp::FullyShardOptions options;
  options.strategy = strategy;
  options.seed = seed;
  return fsdp::fully_shard(list, comms, options);
}

/// Every element of every parameter, on every rank.
std::vector<float> whole(comm::MeshComms& comms, fsdp::ShardedModel& model) {
  std::vector<float> all;
  for (auto& [key, tensor] : model.state_dict().tensors) {
    const dtensor::ShardSpec& spec = tensor.spec;
    std::vector<float> values(static_cast<std::size_t>(spec.global_shape.numel()), -1e30F);
    for (std::int64_t i = 0; i < spec.numel; ++i) {
      values[static_cast<std::size_t>(spec.offset + i)] = tensor.local.data<float>()[i];
    }
    comms.world
        ->all_reduce(values.data(), values.data(), values.size(), DType::f32, comm::ReduceOp::max)
        .wait();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(ModelState, GoesThroughAllFormsAndBetweenStrategies) {
  using fsdp::ShardingStrategy;
  const TempFolder directory;
  on_ranks(2, 2, [&](comm::MeshComms& comms) {
    for (const StateDictType type :
         {StateDictType::full_state_dict, StateDictType::sharded_state_dict,
          StateDictType::local_state_dict}) {
      for (const char* name : {"state.h5", "state.safetensors"}) {
        const auto path = directory.path() / to_string(type) / name;
        std::filesystem::create_directories(path.parent_path());
        const bool local = type == StateDictType::local_state_dict;
        auto model = make_model(comms, ShardingStrategy::full_shard, 1);
        auto other = make_model(
            comms, local ? ShardingStrategy::full_shard : ShardingStrategy::hybrid_shard, 2);
        auto copied =
            make_model(comms, local ? ShardingStrategy::full_shard : ShardingStrategy::no_shard, 3);
        EXPECT_NE(whole(comms, model), whole(comms, other));
        save_state(comms, model.state_dict(), path, type);
        for (fsdp::ShardedModel* target : {&other, &copied}) {
          auto state = target->state_dict();
          load_state(comms, path, state, type);
          target->parameters_changed();
          EXPECT_EQ(whole(comms, *target), whole(comms, model)) << to_string(type) << " " << name;
        }
      }
    }
  });
}

}  // namespace
}  // namespace sherd::io::test
