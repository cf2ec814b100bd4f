#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// What a load lets pass, and what it reports.
namespace sherd::io::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LoadWith : public ::testing::Test {
 protected:
  LoadWith() {
    on_ranks(1, 2, [this](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = small_state(ranks);
      fill(state, 1);
      Checkpointer(comms, {.directory = directory_.path()}).save_async(1, state).wait();
    });
  }

  static dtensor::StateDict small_state(const comm::Ranks& ranks) {
    dtensor::StateDict state;
    add_tensor(state, ranks, "model.a", {7, 3}, DType::f32, Cut::even);
    add_tensor(state, ranks, "model.b", {5}, DType::bf16, Cut::replicated);
    add_tensor(state, ranks, "optimizer.a.exp_avg", {7, 3}, DType::f32, Cut::even);
    state.per_rank["random"] = {static_cast<std::byte>(10 + ranks.rank())};
    state.common["config"] = "{}";
    return state;
  }

  using Body = std::function<void(const comm::Ranks&, Checkpointer&)>;
  void on(int count, const Body& body) const {
    on_ranks(1, count, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      body(ranks, checkpointer);
    });
  }

  /// The refusal, which all ranks get and which leaves the state as it was.
  static std::string refusal(Checkpointer& checkpointer, dtensor::StateDict& state,
                             const LoadOptions& options) {
    fill(state, 9);
    try {
      (void)checkpointer.load_latest(state, options);
    } catch (const ConfigError& error) {
      expect_filled(state, 9);
      return error.what();
    }
    return "no ConfigError";
  }

  TempFolder directory_;
};

TEST_F(LoadWith, NamesThatDifferAreRefusedOrReported) {
  on(2, [](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict state = small_state(ranks);
    state.tensors.erase("optimizer.a.exp_avg");
    add_tensor(state, ranks, "model.c", {4}, DType::f32, Cut::even);
    EXPECT_THAT(refusal(checkpointer, state, {}),
                ::testing::AllOf(HasSubstr("'model.c' is not in it"),
                                 HasSubstr("its 'optimizer.a.exp_avg' is not wanted here")));
    fill(state, 9);
    const auto report = checkpointer.load_latest(state, {.strict = false});
    ASSERT_TRUE(report.has_value());
    EXPECT_THAT(report->missing, ElementsAre("model.c"));
    EXPECT_THAT(report->unexpected, ElementsAre("optimizer.a.exp_avg"));
    EXPECT_THAT(report->mismatched, IsEmpty());
    EXPECT_THAT(report->notes, ElementsAre(HasSubstr("model.c"), HasSubstr("optimizer.a.exp_avg")));
    EXPECT_EQ(differing_bytes(state.tensors["model.a"], 1), 0);
    EXPECT_EQ(differing_bytes(state.tensors["model.b"], 1), 0);
    EXPECT_EQ(differing_bytes(state.tensors["model.c"], 9), 0);
  });
}

TEST_F(LoadWith, AnotherShapeIsRefusedOrLeftAsItWas) {
  on(2, [](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict state = small_state(ranks);
    add_tensor(state, ranks, "model.a", {3, 7}, DType::f32, Cut::even);
    EXPECT_THAT(refusal(checkpointer, state, {}),
                HasSubstr("'model.a' has shape [7, 3] there and [3, 7] here"));
    fill(state, 9);
    const auto report = checkpointer.load_latest(state, {.strict = false});
    ASSERT_TRUE(report.has_value());
    ASSERT_EQ(report->mismatched.size(), 1U);
    EXPECT_EQ(report->mismatched[0].key, "model.a");
    EXPECT_EQ(report->mismatched[0].stored, "f32 [7, 3]");
    EXPECT_EQ(report->mismatched[0].wanted, "f32 [3, 7]");
    EXPECT_EQ(differing_bytes(state.tensors["model.a"], 9), 0);
    EXPECT_EQ(differing_bytes(state.tensors["model.b"], 1), 0);
  });
}

TEST_F(LoadWith, AStateThatHasNothingInCommonIsNeverLoaded) {
  on(2, [](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict state;
    add_tensor(state, ranks, "model.other", {4}, DType::f32, Cut::even);
    EXPECT_THAT(refusal(checkpointer, state, {.strict = false}),
                HasSubstr("none of the state's tensors is in it"));
  });
}

TEST_F(LoadWith, DtypesAreConvertedOnlyWhenAllowed) {
  const TempFolder directory;
  constexpr DType kFloats[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    std::int64_t step = 0;
    for (const DType stored : kFloats) {
      dtensor::StateDict saved;
      add_tensor(saved, ranks, "model.odd", {3}, DType::u8, Cut::replicated);  // misaligns the next
      add_tensor(saved, ranks, "model.x", {5, 41}, stored, Cut::even);
      const dtensor::ShardSpec& spec = saved.tensors["model.x"].spec;
      Tensor values = Tensor::zeros(Shape{spec.numel}, DType::f64);
      for (std::int64_t i = 0; i < spec.numel; ++i) {
        values.data<double>()[i] = std::exp(0.1 * static_cast<double>(spec.offset + i) - 10.0);
      }
      convert(values, saved.tensors["model.x"].local);
      checkpointer.save_async(++step, saved).wait();
      for (const DType wanted : kFloats) {
        dtensor::StateDict state;
        add_tensor(state, ranks, "model.odd", {3}, DType::u8, Cut::replicated);
        add_tensor(state, ranks, "model.x", {5, 41}, wanted, Cut::even);
        if (wanted != stored) {
          EXPECT_THAT(refusal(checkpointer, state, {.strict = false}), HasSubstr("'model.x' is "));
        }
        const auto report = checkpointer.load_latest(state, {.allow_cast = true});
        ASSERT_TRUE(report.has_value());
        EXPECT_EQ(report->cast.size(), wanted == stored ? 0U : 1U);
        const Tensor expected = to_dtype(saved.tensors["model.x"].local, wanted);
        EXPECT_EQ(
            std::memcmp(state.tensors["model.x"].local.raw(), expected.raw(), expected.nbytes()),
            0);
      }
    }
  });
}

TEST_F(LoadWith, IntegersAreNeverConverted) {
  on(1, [](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict state = small_state(ranks);
    add_tensor(state, ranks, "model.b", {5}, DType::u16, Cut::replicated);
    EXPECT_THAT(refusal(checkpointer, state, {.allow_cast = true, .per_rank = PerRank::keep}),
                HasSubstr("'model.b' is bf16 there and u16 here"));
  });
}

TEST_F(LoadWith, AModelAloneLoadsFromAWholeCheckpoint) {
  const auto of_model = [](const std::string& key) { return key.starts_with("model."); };
  on(3, [&](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict model = small_state(ranks);
    model.tensors.erase("optimizer.a.exp_avg");
    model.per_rank.clear();
    const auto report = checkpointer.load_latest(model, {.select = of_model});
    ASSERT_TRUE(report.has_value());
    EXPECT_THAT(report->notes, IsEmpty());
    EXPECT_EQ(report->saved_by_ranks, 2);
    EXPECT_EQ(report->bytes_read, 7U * 3 * 4 + 5 * 2);
    expect_filled(model, 1);
    EXPECT_THAT(model.per_rank, IsEmpty());
    EXPECT_EQ(model.common["config"], "{}");

    dtensor::StateDict all = small_state(ranks);
    const auto random = all.per_rank["random"];
    fill(all, 9);
    ASSERT_TRUE(checkpointer.load_latest(all, {.select = of_model}).has_value());
    EXPECT_EQ(differing_bytes(all.tensors["model.a"], 1), 0);
    EXPECT_EQ(differing_bytes(all.tensors["optimizer.a.exp_avg"], 9), 0);
    EXPECT_EQ(all.per_rank["random"], random);
  });
}

TEST_F(LoadWith, PerRankDataOfAnotherNumberOfRanks) {
  const auto random_of = [](int rank) {
    return std::vector<std::byte>{static_cast<std::byte>(rank)};
  };
  for (const int count : {1, 3}) {
    on(count, [&](const comm::Ranks& ranks, Checkpointer& checkpointer) {
      dtensor::StateDict state = small_state(ranks);
      state.per_rank["random"] = random_of(90);
      EXPECT_THAT(refusal(checkpointer, state, {}), HasSubstr("saved by 2 ranks"));
      const auto kept = checkpointer.load_latest(state, {.per_rank = PerRank::keep});
      ASSERT_TRUE(kept.has_value());
      EXPECT_THAT(kept->notes, ElementsAre(HasSubstr("is not restored")));
      EXPECT_EQ(state.per_rank["random"], random_of(90));
      const auto dealt = checkpointer.load_latest(state, {.per_rank = PerRank::by_rank});
      ASSERT_TRUE(dealt.has_value());
      EXPECT_THAT(dealt->notes, ElementsAre(HasSubstr("per-rank data of ranks from")));
      EXPECT_EQ(state.per_rank["random"], random_of(ranks.rank() < 2 ? 10 + ranks.rank() : 90));
    });
  }
  on(2, [&](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict state = small_state(ranks);
    state.per_rank.clear();
    const auto report = checkpointer.load_latest(state);
    ASSERT_TRUE(report.has_value());
    EXPECT_THAT(report->notes, IsEmpty());
    EXPECT_EQ(state.per_rank["random"], random_of(10 + ranks.rank()));
    state.per_rank["loader"] = {};
    EXPECT_THAT(refusal(checkpointer, state, {}),
                HasSubstr("per-rank entry 'loader' is not in it"));
    EXPECT_TRUE(checkpointer.load_latest(state, {.strict = false}).has_value());
  });
}

TEST_F(LoadWith, RanksThatWantDifferentThingsAreAllTold) {
  on(2, [&](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    const bool odd = ranks.rank() == 1;
    dtensor::StateDict state = small_state(ranks);
    EXPECT_THROW((void)checkpointer.load_latest(state, {.allow_cast = odd}), ArgumentError);
    EXPECT_THROW(
        (void)checkpointer.load_latest(
            state, {.strict = false,
                    .select = [&](const std::string& key) { return !odd || key == "model.a"; }}),
        ArgumentError);
    EXPECT_THROW(
        (void)checkpointer.load(directory_.path() / (odd ? "step-00000001" : "elsewhere"), state),
        ConfigError);
    if (odd) {
      add_tensor(state, ranks, "model.more", {3}, DType::f32, Cut::replicated);
    }
    EXPECT_THROW((void)checkpointer.load_latest(state), ArgumentError);
  });
}

TEST_F(LoadWith, TheReportAsJson) {
  on(2, [&](const comm::Ranks& ranks, Checkpointer& checkpointer) {
    dtensor::StateDict state = small_state(ranks);
    state.tensors.erase("optimizer.a.exp_avg");
    add_tensor(state, ranks, "model.b", {5}, DType::f32, Cut::even);
    const auto report = checkpointer.load_latest(state, {.strict = false, .allow_cast = true});
    ASSERT_TRUE(report.has_value());
    EXPECT_GT(report->seconds, 0.0);
    const auto json = nlohmann::json::parse(report->to_json());
    EXPECT_EQ(json.at("step"), 1);
    EXPECT_EQ(json.at("unexpected"), nlohmann::json({"optimizer.a.exp_avg"}));
    EXPECT_EQ(json.at("missing"), nlohmann::json::array());
    EXPECT_EQ(json.at("cast").at(0).at("key"), "model.b");
    EXPECT_EQ(json.at("cast").at(0).at("stored"), "bf16 [5]");
    EXPECT_EQ(json.at("saved_by_ranks"), 2);
    EXPECT_EQ(json.at("bytes_read"), report->bytes_read);
  });
}

}  // namespace
}  // namespace sherd::io::test
