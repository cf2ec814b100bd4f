#include <gtest/gtest.h>

#include <utility>

#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temporary_directory.hpp"

/// A checkpoint of any mesh loads on any other, whatever the tensors' cuts.
namespace sherd::io::test {
namespace {

using Mesh = std::pair<int, int>;  // nodes, ranks per node
constexpr Mesh kMeshes[] = {{1, 1}, {1, 3}, {2, 2}, {3, 1}, {1, 5}, {2, 3}};

TEST(Reshard, EveryMeshLoadsWhatEveryOtherSaved) {
  for (const Mesh& from : kMeshes) {
    const TemporaryDirectory directory;
    on_ranks(from.first, from.second, [&](comm::MeshComms& comms) {
      const Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = make_state(ranks, Cut::even);
      fill(state, 5);
      Checkpointer checkpointer(comms, {.directory = directory.path()});
      checkpointer.save_async(1, state).wait();
    });
    for (const Mesh& to : kMeshes) {
      on_ranks(to.first, to.second, [&](comm::MeshComms& comms) {
        const Ranks ranks{comms.world.get(), &comms.mesh};
        const bool same_size = from.first * from.second == ranks.size();
        dtensor::StateDict state = make_state(ranks, Cut::last_is_empty);
        const auto random = std::exchange(state.per_rank["random"], {});
        Checkpointer checkpointer(comms, {.directory = directory.path()});
        const auto report = checkpointer.load_latest(state);
        ASSERT_TRUE(report.has_value());
        expect_filled(state, 5);
        EXPECT_EQ(report->notes.empty(), same_size);
        EXPECT_EQ(state.per_rank["random"] == random, same_size);
      });
    }
  }
}

}  // namespace
}  // namespace sherd::io::test
