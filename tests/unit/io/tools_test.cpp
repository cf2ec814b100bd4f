#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "sherd/base/error.hpp"
#include "sherd/io/compare.hpp"
#include "sherd/io/consolidate.hpp"
#include "sherd/io/full_state.hpp"
#include "support/block_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// What `sherd ckpt` is made of.
namespace sherd::io::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Change = std::function<void(dtensor::StateDict&)>;

/// Saves the mixed state, filled with seed 1 and then changed, from nodes x local ranks.
fs::path save(const fs::path& directory, std::int64_t step, int nodes, int local,
              const BlockGrid& grid, const Change& change = {}, Layout layout = Layout::per_node) {
  on_ranks(nodes, local, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, grid);
    fill_any(state, 1);
    if (change) {
      change(state);
    }
    Checkpointer checkpointer(comms, {.directory = directory, .layout = layout});
    checkpointer.save_async(step, state).wait();
  });
  return directory / step_name(step);
}

TEST(Survey, TellsFoldersApart) {
  const TempFolder directory;
  const fs::path committed = save(directory.path(), 7, 1, 2, {});
  fs::create_directories(directory.path() / "step-00000008");
  fs::create_directories(directory.path() / "step-00000009");
  std::ofstream(directory.path() / "step-00000009/COMMITTED.json") << "{";
  fs::create_directories(directory.path() / ".tmp-step-00000003-0123456789abcdef0123456789abcdef");
  fs::create_directories(directory.path() / ".bad-step-00000002-2");
  fs::create_directories(directory.path() / ".del-step-00000001-x");
  std::ofstream(directory.path() / "LATEST") << "step-00000099\n";
  std::ofstream(committed / "PINNED");
  const std::vector<FolderInfo> found = survey_checkpoints(directory.path());
  ASSERT_THAT(found, SizeIs(5));
  EXPECT_EQ(found[0].step, 7);
  EXPECT_EQ(found[0].state, FolderState::committed);
  EXPECT_EQ(found[0].ranks, 2);
  EXPECT_TRUE(found[0].pinned);
  EXPECT_GT(found[0].bytes, 4000U);
  EXPECT_GT(found[0].modified, 1'500'000'000);
  EXPECT_EQ(found[1].state, FolderState::incomplete);
  EXPECT_FALSE(found[1].pinned);
  EXPECT_EQ(found[2].state, FolderState::damaged);
  EXPECT_EQ(found[3].state, FolderState::set_aside);
  EXPECT_EQ(found[3].step, 2);
  EXPECT_EQ(found[4].state, FolderState::in_flight);
  EXPECT_EQ(found[4].step, 3);
  EXPECT_THROW((void)survey_checkpoints(directory.path() / "nowhere"), IoError);
}

TEST(Statistics, CountsWhatIsNotFinite) {
  const TempFolder directory;
  const fs::path folder = save(directory.path(), 1, 1, 1, {}, [](dtensor::StateDict& state) {
    double* cube = state.tensors["field.cube"].local.data<double>();
    std::fill_n(cube, 105, 2.0);
    cube[0] = std::numeric_limits<double>::quiet_NaN();
    cube[1] = -std::numeric_limits<double>::infinity();
    cube[2] = -7.5;
    cube[104] = 9.0;
    cube[50] = cube[0];
  });
  const CheckpointReader reader(folder);
  const TensorStatistics numbers = tensor_statistics(reader, "field.cube");
  EXPECT_EQ(numbers.numel, 105);
  EXPECT_EQ(numbers.nan, 2);
  EXPECT_EQ(numbers.infinite, 1);
  EXPECT_EQ(numbers.min, -7.5);
  EXPECT_EQ(numbers.max, 9.0);
  EXPECT_EQ(numbers.mean, (100 * 2.0 - 7.5 + 9.0) / 102);
  EXPECT_EQ(tensor_statistics(reader, "model.nothing").numel, 0);
  EXPECT_THROW((void)tensor_statistics(reader, "absent"), IoError);
}

TEST(Compare, TheSameStateIsEqualHoweverItWasCut) {
  const TempFolder directory;
  const fs::path first = save(directory.path(), 1, 2, 2, {2});
  const fs::path second = save(directory.path(), 2, 1, 3, {3, true}, {}, Layout::single_file);
  const CheckpointDifference found =
      compare_checkpoints(CheckpointReader(first), CheckpointReader(second));
  EXPECT_TRUE(found.equal());
  EXPECT_EQ(found.equal_tensors, 9);
  EXPECT_THAT(found.texts, IsEmpty());
}

TEST(Compare, NamesWhatDiffers) {
  const TempFolder directory;
  const fs::path first = save(directory.path(), 1, 1, 1, {}, [](dtensor::StateDict& state) {
    state.tensors["field.cube"].local.fill_zero();
    state.tensors["model.flat"].local.fill_zero();
  });
  const fs::path second = save(directory.path(), 2, 1, 1, {}, [](dtensor::StateDict& state) {
    state.tensors["field.cube"].local.fill_zero();
    state.tensors["model.flat"].local.fill_zero();
    state.tensors["field.cube"].local.data<double>()[104] = 0.25;
    state.tensors["field.cube"].local.data<double>()[5] = -1e-9;
    state.tensors["model.flat"].local.data<float>()[0] = std::nanf("");
    state.tensors["model.extra"] = state.tensors["model.copied"];
    state.tensors.erase("model.copied");
    state.tensors["field.thin"].spec.global_shape = {3, 2};
    state.tensors["field.thin"].spec.block = dtensor::Block{{0, 0}, {3, 2}};
    state.common["config"] = "{}";
    state.common.erase("step");
  });
  const CheckpointReader a(first);
  const CheckpointReader b(second);
  CheckpointDifference found = compare_checkpoints(a, b);
  EXPECT_FALSE(found.equal());
  EXPECT_THAT(found.only_in_a, ElementsAre("model.copied"));
  EXPECT_THAT(found.only_in_b, ElementsAre("model.extra"));
  EXPECT_THAT(found.texts, ElementsAre("config", "step"));
  ASSERT_THAT(found.tensors, SizeIs(3));
  EXPECT_EQ(found.tensors[0].key, "field.cube");
  EXPECT_EQ(found.tensors[0].differing, 2);
  EXPECT_EQ(found.tensors[0].max_abs, 0.25);
  EXPECT_EQ(found.tensors[1].kind_a, "f32 [1, 3, 2]");
  EXPECT_EQ(found.tensors[1].kind_b, "f32 [3, 2]");
  EXPECT_TRUE(std::isinf(found.tensors[2].max_abs));
  for (const double tolerance : {1e-6, 0.2}) {
    found = compare_checkpoints(a, b, {.tolerance = tolerance});
    EXPECT_EQ(found.tensors[0].differing, 1);
  }
  found = compare_checkpoints(a, b, {.tolerance = 0.25, .select = [](const std::string& key) {
                                       return key == "field.cube";
                                     }});
  EXPECT_TRUE(found.equal());
}

TEST(Consolidate, WritesTheWholeStateInOneFile) {
  const TempFolder directory;
  const fs::path file = directory.path() / "whole.h5";
  const CheckpointReader checkpoint(save(directory.path(), 5, 2, 2, {2}));
  std::uint64_t last = 0;
  consolidate_checkpoint(checkpoint, file, [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    last = done;
  });
  EXPECT_EQ(last, 105U * 8 + 143 * 2 + 6 * 4 + 30 * 2 + 703 * 4 + 5 * 2 + 8 + 9 * 4);
  on_ranks(1, 3, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {3, true});
    state.common.clear();
    const LoadReport report = load_full_state(comms, file, state);
    EXPECT_THAT(report.missing, IsEmpty());
    EXPECT_THAT(report.unexpected, IsEmpty());
    expect_filled_any(state, 1);
    EXPECT_EQ(state.common.at("config"), R"({"steps": 3})");
    EXPECT_EQ(state.common.at("step"), "three");
    EXPECT_EQ(state.common.size(), 2U);
  });
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
  EXPECT_THROW(consolidate_checkpoint(checkpoint, directory.path() / "no/such/whole.h5"), IoError);
}

TEST(Consolidate, TensorsOfSeveralChunksAreWholeToo) {
  const TempFolder directory;
  const fs::path file = directory.path() / "whole.h5";
  const auto state_of = [](comm::MeshComms& comms) {
    dtensor::StateDict state;
    add_tensor(state, {comms.world.get(), &comms.mesh}, "model.long", {(17 << 20) + 5}, DType::u8,
               Cut::even);
    return state;
  };
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = state_of(comms);
    fill(state, 9);
    Checkpointer(comms, {.directory = directory.path()}).save_async(1, state).wait();
  });
  const CheckpointReader checkpoint(directory.path() / step_name(1));
  consolidate_checkpoint(checkpoint, file);
  EXPECT_TRUE(compare_checkpoints(checkpoint, checkpoint).equal());
  EXPECT_EQ(tensor_statistics(checkpoint, "model.long").max, 255.0);
  on_ranks(1, 1, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = state_of(comms);
    load_full_state(comms, file, state);
    expect_filled(state, 9);
  });
}

}  // namespace
}  // namespace sherd::io::test
