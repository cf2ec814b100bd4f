#include <gmock/gmock.h>

#include <fstream>

#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"

namespace sherd::io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SaveLoad : public ::testing::Test {
 protected:
  comm::MeshComms comms_ = comm::make_mesh_comms();
  comm::Ranks ranks_{comms_.world.get(), &comms_.mesh};
  SharedDirectory directory_{comms_};
  CheckpointerOptions options() const { return {.directory = directory_.path()}; }
};

TEST_F(SaveLoad, EveryCutLoadsIntoEveryOtherCut) {
  for (const Cut saved : {Cut::even, Cut::first_rank_only, Cut::last_is_empty, Cut::replicated}) {
    Checkpointer checkpointer(comms_, options());
    dtensor::StateDict state = make_state(ranks_, saved);
    fill(state, 1 + static_cast<std::uint64_t>(saved));
    const std::int64_t step = 10 + static_cast<int>(saved);
    checkpointer.save_async(step, state).wait();
    for (const Cut wanted :
         {Cut::even, Cut::first_rank_only, Cut::last_is_empty, Cut::replicated}) {
      dtensor::StateDict loaded = make_state(ranks_, wanted);
      loaded.per_rank.clear();
      loaded.common.clear();
      const auto report = checkpointer.load_latest(loaded);
      ASSERT_TRUE(report.has_value());
      EXPECT_EQ(report->step, step);
      EXPECT_TRUE(report->notes.empty());
      expect_filled(loaded, 1 + static_cast<std::uint64_t>(saved));
      EXPECT_EQ(loaded.per_rank, state.per_rank);
      EXPECT_EQ(loaded.common, state.common);
    }
  }
}

TEST_F(SaveLoad, WhatIsChangedAfterSaveAsyncIsNotInTheFile) {
  Checkpointer checkpointer(comms_, options());
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  for (int round = 0; round < 10; ++round) {
    const auto seed = static_cast<std::uint64_t>(round);
    fill(state, seed);
    const SaveTicket ticket = checkpointer.save_async(round, state);
    fill(state, 1000);
    EXPECT_GE(ticket.stall_seconds(), 0.0);
    ticket.wait();
    EXPECT_EQ(ticket.phase(), SavePhase::committed);
    dtensor::StateDict loaded = make_state(ranks_, Cut::last_is_empty);
    ASSERT_TRUE(checkpointer.load_latest(loaded));
    expect_filled(loaded, seed);
  }
}

TEST_F(SaveLoad, NothingSavedIsNothingLoaded) {
  Checkpointer checkpointer(comms_, options());
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  EXPECT_FALSE(checkpointer.load_latest(state).has_value());
  EXPECT_FALSE(checkpointer.last().valid());
  EXPECT_NO_THROW(checkpointer.poll());
}

/// An index.h5 without the one field that differs between equal saves: /meta/timing.
std::string without_timing(std::string image) {
  const auto from = image.find("[{\"bytes\":");
  const auto to = image.find("}]", from);
  EXPECT_NE(to, std::string::npos);
  const auto end = std::min(image.size(), image.find_first_not_of('\0', to + 2));
  return image.replace(from, end - from, "");
}

TEST_F(SaveLoad, TwoSavesOfTheSameStateAreTheSameBytes) {
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 3);
  for (const char* name : {"a", "b"}) {
    Checkpointer checkpointer(comms_, {.directory = directory_.path() / name});
    checkpointer.save_async(5, state).wait();
  }
  const auto bytes = [&](const std::string& run, const char* file) {
    std::ifstream in(directory_.path() / run / "step-00000005" / file, std::ios::binary);
    EXPECT_TRUE(in.good()) << file;
    std::string text(std::istreambuf_iterator<char>(in), {});
    return file == std::string("index.h5") ? without_timing(std::move(text)) : text;
  };
  for (const char* file : {"index.h5", "shards/node-00000.h5"}) {
    EXPECT_TRUE(bytes("a", file) == bytes("b", file)) << file;
  }
}

TEST_F(SaveLoad, OnlyTheLastFewAreKept) {
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  {
    Checkpointer checkpointer(comms_, {.directory = directory_.path(), .keep_last = 2});
    for (const std::int64_t step : {10, 20, 30, 40}) {
      checkpointer.save_async(step, state).wait();
    }
  }
  comms_.world->barrier();
  std::vector<std::int64_t> steps;
  for (const CheckpointInfo& info : list_checkpoints(directory_.path())) {
    EXPECT_TRUE(info.committed);
    steps.push_back(info.step);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{30, 40}));
  EXPECT_EQ(resolve_checkpoint(directory_.path()).filename(), "step-00000040");
}

TEST_F(SaveLoad, AStepSavedAgainIsRefusedOrReplacesTheOldOne) {
  CheckpointerOptions chosen = options();
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  for (const std::uint64_t seed : {1U, 2U}) {
    chosen.overwrite = seed == 2;
    Checkpointer checkpointer(comms_, chosen);
    fill(state, seed);
    checkpointer.save_async(7, state).wait();
    chosen.overwrite = false;
    Checkpointer careful(comms_, chosen);
    fill(state, 3);
    EXPECT_THAT([&] { (void)careful.save_async(7, state); },
                ThrowsMessage<IoError>(HasSubstr("step 7 is committed already")));
    comms_.world->barrier();
    EXPECT_EQ(list_checkpoints(directory_.path()).size(), 1U) << "nothing was begun";
    dtensor::StateDict kept = make_state(ranks_, Cut::even);
    ASSERT_TRUE(careful.load_latest(kept));
    expect_filled(kept, seed);
  }
  Checkpointer checkpointer(comms_, chosen);
  dtensor::StateDict loaded = make_state(ranks_, Cut::even);
  const LoadReport report = checkpointer.load(directory_.path() / "step-00000007", loaded);
  EXPECT_EQ(report.step, 7);
  expect_filled(loaded, 2);
}

TEST_F(SaveLoad, StateMayChangeItsStructureBetweenSaves) {
  Checkpointer checkpointer(comms_, options());
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  fill(state, 1);
  checkpointer.save_async(1, state).wait();
  state.per_rank["random"].resize(500, std::byte{9});
  state.common["config"] = std::string(3000, 'x');
  add_tensor(state, ranks_, "model.more", {11, 3}, DType::f32, Cut::last_is_empty);
  fill(state, 2);
  checkpointer.save_async(2, state).wait();
  dtensor::StateDict loaded = make_state(ranks_, Cut::even);
  add_tensor(loaded, ranks_, "model.more", {11, 3}, DType::f32, Cut::even);
  ASSERT_TRUE(checkpointer.load_latest(loaded));
  expect_filled(loaded, 2);
  EXPECT_EQ(loaded.per_rank, state.per_rank);
  EXPECT_EQ(loaded.common, state.common);
}

TEST_F(SaveLoad, ACheckpointOfAnotherModelIsRefusedOnAllRanks) {
  Checkpointer checkpointer(comms_, options());
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  checkpointer.save_async(1, state).wait();
  const auto message_of = [&](dtensor::StateDict other) {
    try {
      (void)checkpointer.load_latest(other);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no ConfigError");
  };
  dtensor::StateDict missing = make_state(ranks_, Cut::even);
  add_tensor(missing, ranks_, "model.extra", {3}, DType::f32, Cut::even);
  EXPECT_THAT(message_of(missing), HasSubstr("'model.extra' is not in it"));
  dtensor::StateDict unexpected = make_state(ranks_, Cut::even);
  unexpected.tensors.erase("model.cube");
  EXPECT_THAT(message_of(unexpected), HasSubstr("its 'model.cube' is not wanted here"));
  dtensor::StateDict reshaped = make_state(ranks_, Cut::even);
  add_tensor(reshaped, ranks_, "model.norm.weight", {6}, DType::f16, Cut::even);
  EXPECT_THAT(message_of(reshaped), HasSubstr("has shape [5] there and [6] here"));
  dtensor::StateDict cast = make_state(ranks_, Cut::even);
  add_tensor(cast, ranks_, "model.norm.weight", {5}, DType::bf16, Cut::even);
  EXPECT_THAT(message_of(cast), HasSubstr("is f16 there and bf16 here"));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "step-00000001"));
}

TEST_F(SaveLoad, TiedNamesLoadUnderEither) {
  dtensor::StateDict state;
  add_tensor(state, ranks_, "model.embed.weight", {9, 4}, DType::f32, Cut::even);
  state.tensors["model.embed.weight"].spec.aliases = {"head.weight"};
  fill(state, 4);
  Checkpointer checkpointer(comms_, options());
  checkpointer.save_async(1, state).wait();
  dtensor::StateDict other;
  add_tensor(other, ranks_, "model.head.weight", {9, 4}, DType::f32, Cut::last_is_empty);
  ASSERT_TRUE(checkpointer.load_latest(other));
  expect_filled(other, 4);
}

TEST_F(SaveLoad, RangesThatDoNotPartitionATensorAreRefused) {
  if (ranks_.size() == 1) {
    dtensor::StateDict hole;
    add_tensor(hole, ranks_, "model.a", {10}, DType::f32, Cut::even);
    hole.tensors["model.a"].spec.numel = 9;
    hole.tensors["model.a"].local = Tensor::zeros(Shape{9}, DType::f32);
    Checkpointer checkpointer(comms_, options());
    EXPECT_THROW((void)checkpointer.save_async(1, hole), ArgumentError);
    return;
  }
  dtensor::StateDict doubled;
  add_tensor(doubled, ranks_, "model.a", {10}, DType::f32, Cut::replicated);
  doubled.tensors["model.a"].spec.placement = dtensor::Placement::sharded;
  Checkpointer checkpointer(comms_, options());
  EXPECT_THROW((void)checkpointer.save_async(1, doubled), ArgumentError);
  dtensor::StateDict good = make_state(ranks_, Cut::even);
  EXPECT_NO_THROW(checkpointer.save_async(1, good).wait());
}

TEST_F(SaveLoad, RanksThatDisagreeAreToldSo) {
  if (ranks_.size() == 1) {
    EXPECT_THROW(Checkpointer(comms_, {.directory = directory_.path(), .keep_last = 1}),
                 ConfigError);
    return;
  }
  const auto own = directory_.path() / std::to_string(ranks_.rank());
  EXPECT_THROW(Checkpointer(comms_, {.directory = own}), ConfigError);
  Checkpointer checkpointer(comms_, options());
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  EXPECT_THROW((void)checkpointer.save_async(ranks_.rank(), state), ArgumentError);
  state.common["rank"] = std::to_string(ranks_.rank());
  EXPECT_THROW((void)checkpointer.save_async(1, state), ArgumentError);
  state = make_state(ranks_, Cut::even);
  if (ranks_.rank() == 1) {
    state.tensors["model.cube"].local = Tensor();
  }
  EXPECT_THROW((void)checkpointer.save_async(1, state), ArgumentError);
}

TEST_F(SaveLoad, ADirectoryThatCannotBeWrittenIsAConfigErrorOnAllRanks) {
  const auto file = directory_.path() / "file";
  if (ranks_.rank() == 0) {
    std::ofstream(file) << "not a directory";
  }
  comms_.world->barrier();
  EXPECT_THROW(Checkpointer(comms_, {.directory = file / "checkpoints"}), ConfigError);
  EXPECT_THROW(Checkpointer(comms_, {.directory = "/proc/checkpoints"}), ConfigError);
}

}  // namespace
}  // namespace sherd::io::test
