#include "sherd/comm/agree.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "support/message_of.hpp"

namespace sherd::comm {
namespace {

TEST(Agreement, OneRanksProblemIsEverybodys) {
  for (const int ranks : {1, 2, 3}) {
    run_inproc(ranks, [&](Communicator& comm) {
      EXPECT_NO_THROW(all_or_config_error(comm, [] {}));
      const int guilty = comm.size() - 1;
      const std::string text = io::test::message<ConfigError>([&] {
        all_or_config_error(comm, [&] {
          if (comm.rank() == guilty) {
            throw IoError("file is gone");
          }
        });
      });
      EXPECT_NE(text.find("file is gone"), std::string::npos);
      EXPECT_EQ(text.rfind("rank " + std::to_string(guilty) + " on ", 0) == 0, comm.size() > 1);
      const std::string all = io::test::message<ConfigError>(
          [&] { all_or_config_error(comm, [] { throw ConfigError("all alike"); }); });
      EXPECT_EQ(all, "all alike");
    });
  }
}

TEST(Agreement, OtherExceptionsPass) {
  run_inproc(1, [](Communicator& comm) {
    EXPECT_THROW(all_or_config_error(comm, [] { throw ArgumentError("a bug"); }), ArgumentError);
  });
}

/// Runs `body` on every grid a rule may meet: one rank, odd numbers, several nodes.
void on_grids(const std::function<void(const Ranks&)>& body) {
  for (const auto& [nodes, local] : {std::pair{1, 1}, {1, 2}, {1, 3}, {1, 5}, {2, 2}, {3, 1}}) {
    run_inproc_mesh(nodes, local, [&](MeshComms& comms) {
      body({comms.world.get(), &comms.mesh});
    });
  }
}

TEST(Agreement, TheTextOfTheLaunchsFirstRankIsOnAllRanks) {
  on_grids([](const Ranks& ranks) {
    std::string text = ranks.rank() == 0 ? "the first rank's" : std::string(40, 'x');
    broadcast_text(ranks, text);
    EXPECT_EQ(text, "the first rank's");
    std::string empty = ranks.rank() == 0 ? "" : "something";
    broadcast_text(ranks, empty);
    EXPECT_EQ(empty, "");
  });
}

TEST(Agreement, TheLowestRankThatHasATextIsHeard) {
  on_grids([](const Ranks& ranks) {
    EXPECT_FALSE(first_text(ranks, std::nullopt));
    for (int lowest = 0; lowest < ranks.size(); ++lowest) {
      const bool has = ranks.rank() >= lowest;
      const auto found =
          first_text(ranks, has ? std::optional(std::to_string(ranks.rank())) : std::nullopt);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->rank, lowest);
      EXPECT_EQ(found->text, std::to_string(lowest));
    }
  });
}

TEST(Agreement, AnErrorOfOneRankIsThrownByAllInItsKind) {
  on_grids([](const Ranks& ranks) {
    const int guilty = ranks.size() - 1;
    const auto thrown = [&](auto error) {
      return io::test::message<decltype(error)>([&] {
        all_or_none(ranks, [&] {
          if (ranks.rank() == guilty) {
            throw error;
          }
        });
      });
    };
    const std::string front = ranks.size() == 1 ? "" : "rank " + std::to_string(guilty) + ": ";
    EXPECT_EQ(thrown(ArgumentError("a")), front + "a");
    EXPECT_EQ(thrown(ConfigError("b")), front + "b");
    EXPECT_EQ(thrown(IoError("c")), front + "c");
    EXPECT_NO_THROW(all_or_none(ranks, [] {}));
  });
}

TEST(Agreement, OneOtherTextIsNoticedByAll) {
  on_grids([](const Ranks& ranks) {
    EXPECT_TRUE(same_on_all(ranks, "the same"));
    const bool last = ranks.rank() == ranks.size() - 1;
    EXPECT_EQ(same_on_all(ranks, last ? "another" : "the same"), ranks.size() == 1);
  });
}

TEST(Agreement, TheMaximumIsTakenOfEachElement) {
  on_grids([](const Ranks& ranks) {
    std::array<std::int64_t, 2> values{ranks.rank(), -ranks.rank()};
    max_over_ranks(ranks, values);
    EXPECT_EQ(values, (std::array<std::int64_t, 2>{ranks.size() - 1, 0}));
  });
}

}  // namespace
}  // namespace sherd::comm
