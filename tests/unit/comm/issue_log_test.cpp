#include "sherd/comm/issue_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/issue/divergence.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd {
namespace {

using comm::Communicator;
using comm::EpochBoard;
using comm::IssueHistories;
using comm::IssueLog;
using comm::IssueRecord;
using testing::HasSubstr;

const std::vector<std::string> kLabels{"all_gather(a)", "all_gather(b)", "reduce_scatter(b)",
                                       "reduce_scatter(a)"};

/// The histories of ranks that have issued these labels.
IssueHistories histories_of(const std::vector<std::vector<std::uint32_t>>& issued) {
  IssueHistories histories;
  for (const auto& labels : issued) {
    IssueRecord record{};
    for (const std::uint32_t label : labels) {
      append(record, label);
    }
    histories.emplace_back(read(record));
  }
  return histories;
}

std::string divergence_of(const IssueHistories& histories) {
  return comm::find_divergence(histories, 0, kLabels).value_or("none");
}

TEST(Divergence, ARankThatIsBehindIsLeftAlone) {
  EXPECT_EQ(divergence_of(histories_of({{0, 1, 2, 3}, {0}, {}})), "none");
  IssueHistories silent = histories_of({{0, 1}});
  silent.emplace_back(std::nullopt);
  EXPECT_EQ(divergence_of(silent), "none");
}

TEST(Divergence, TheOddRankIsNamedFirstWithWhatItIssued) {
  EXPECT_THAT(divergence_of(histories_of({{0, 1, 2}, {0, 1, 2, 3}, {0, 2}, {0, 1}})),
              testing::StartsWith("rank 2 issued reduce_scatter(b) as number 2, ranks 0, 1, 3 "
                                  "all_gather(b) (all ranks must"));
}

/// The one ahead has gone on with the same labels: its own history proves it.
TEST(Divergence, AnOldDifferenceIsFoundAlthoughTheLastEntriesAgree) {
  std::vector<std::uint32_t> right(100, 0);
  std::vector<std::uint32_t> wrong(90, 0);
  wrong[50] = 3;
  EXPECT_THAT(divergence_of(histories_of({right, wrong})), HasSubstr("rank 1 reduce_scatter(a)"));
}

TEST(Divergence, ADifferenceThatIsNoLongerKeptIsStillProven) {
  std::vector<std::uint32_t> right(1000, 0);
  std::vector<std::uint32_t> wrong(1000, 0);
  wrong[50] = 3;
  EXPECT_THAT(divergence_of(histories_of({right, wrong})), HasSubstr("before number 746"));
}

TEST(Divergence, RanksTooFarApartProveNothing) {
  EXPECT_EQ(divergence_of(histories_of({std::vector<std::uint32_t>(1000, 0), {3, 3}})), "none");
}

TEST(Divergence, WhatWasBeforeAResetIsNotCompared) {
  IssueRecord reset{};
  append(reset, 3);
  clear(reset);
  IssueHistories histories = histories_of({{0}});
  histories.emplace_back(read(reset));
  append(reset, 1);
  histories.emplace_back(read(reset));
  EXPECT_EQ(divergence_of(histories), "none");
  EXPECT_EQ(histories[1]->count, 0U);
  EXPECT_EQ(histories[2]->hash(0), histories_of({{1}})[0]->hash(0));
}

/// One reader and one writer: a copy never holds an entry under another one's number.
TEST(IssueRecordTest, ACopyTakenWhileTheOwnerWritesIsWhole) {
  IssueRecord record{};
  std::atomic<bool> over{false};
  std::jthread writer([&] {
    for (std::uint32_t i = 0; i < 200000; ++i) {
      append(record, i);
    }
    over = true;
  });
  while (!over) {
    const comm::IssueHistory history = read(record);
    for (std::uint64_t number = history.first; number < history.count; ++number) {
      ASSERT_EQ(history.label(number), number);
    }
  }
}

/// Issues operation `label`: an epoch of its own on the board that all ranks must reach.
void issue(IssueLog& log, EpochBoard& board, std::size_t label) {
  log.add(label);
  board.post(label, 1);
  board.wait_all(label, 1, "a wait");
}

using Body = std::function<void(Communicator&, IssueLog&, EpochBoard&)>;

/// What the ranks end with, each in a rank of its own.
std::vector<std::string> messages_of(int ranks, const Body& body) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks), "nothing was thrown");
  comm::run_inproc(ranks, [&](Communicator& comm) {
    const auto log = make_issue_log(comm, kLabels);
    const auto board = comm.make_epoch_board(kLabels.size());
    const comm::ScopedWaitObserver observed(*log);
    try {
      body(comm, *log, *board);
    } catch (const CommError& error) {
      messages[static_cast<std::size_t>(comm.rank())] = error.what();
    }
  });
  return messages;
}

TEST(IssueLogTest, ARankThatSkipsAnOperationAndTheOthersEndWithTheSameMessage) {
  const auto messages = messages_of(4, [](Communicator& comm, IssueLog& log, EpochBoard& board) {
    issue(log, board, 0);
    if (comm.rank() != 2) {
      issue(log, board, 1);
    }
    issue(log, board, 2);
  });
  EXPECT_THAT(messages, testing::Each(HasSubstr("rank 2 issued reduce_scatter(b) as number 2, "
                                                "ranks 0, 1, 3 all_gather(b)")));
}

TEST(IssueLogTest, ARankThatRunsOneMoreIsFound) {
  const auto messages = messages_of(3, [](Communicator& comm, IssueLog& log, EpochBoard& board) {
    if (comm.rank() == 1) {
      issue(log, board, 3);
    }
    issue(log, board, 0);
  });
  EXPECT_THAT(messages, testing::Each(HasSubstr("rank 1 issued reduce_scatter(a) as number 1, "
                                                "ranks 0, 2 all_gather(a)")));
}

/// Counts what it passes on.
class Counting final : public comm::WaitObserver {
 public:
  Counting(comm::WaitObserver& inner, std::atomic<int>& calls) : inner_(inner), calls_(calls) {}
  void waited(std::chrono::milliseconds time) override {
    inner_.waited(time);
    ++calls_;
  }
  [[nodiscard]] std::string describe() override { return inner_.describe(); }

 private:
  comm::WaitObserver& inner_;
  std::atomic<int>& calls_;
};

TEST(IssueLogTest, ARankThatIsSlowIsWaitedFor) {
  std::atomic<int> looks{0};
  const auto messages = messages_of(2, [&](Communicator& comm, IssueLog& log, EpochBoard& board) {
    Counting counting(log, looks);
    const comm::ScopedWaitObserver observed(counting);
    issue(log, board, 0);
    while (comm.rank() == 1 && looks < 2) {
      std::this_thread::yield();
    }
    issue(log, board, 1);
  });
  EXPECT_THAT(messages, testing::Each(std::string("nothing was thrown")));
}

TEST(IssueLogTest, ATimeoutSaysWhatEveryRankIssuedLast) {
  setenv("SHERD_COMM_TIMEOUT", "0.05", 1);
  const auto messages = messages_of(3, [](Communicator& comm, IssueLog& log, EpochBoard& board) {
    log.add(0);
    board.post(0, 1);
    if (comm.rank() == 0) {
      while (!board.test_all(0, 1)) {
        std::this_thread::yield();
      }
      issue(log, board, 1);
    }
  });
  setenv("SHERD_COMM_TIMEOUT", "100", 1);
  EXPECT_THAT(messages[0], HasSubstr("for ranks 1, 2 (of 3)"));
  EXPECT_THAT(messages[0], HasSubstr("The ranks last issued: rank 0 all_gather(b) as number 2; "
                                     "ranks 1, 2 all_gather(a) as number 1."));
}

TEST(IssueLogTest, RanksWithOtherOperationsAreRefusedOnAllRanks) {
  comm::run_inproc(2, [](Communicator& comm) {
    const std::vector<std::string> mine(1, comm.rank() == 0 ? "all_gather(a)" : "all_gather(b)");
    EXPECT_THROW(static_cast<void>(make_issue_log(comm, mine)), ConfigError);
  });
}

TEST(IssueLogTest, OneRankAloneAgreesWithItself) {
  const auto self = comm::make_self();
  const auto log = make_issue_log(*self, kLabels);
  EXPECT_EQ(log->hash(), 0U);
  log->add(1);
  EXPECT_NE(log->hash(), 0U);
  EXPECT_EQ(log->count(), 1U);
  log->check();
  EXPECT_EQ(log->describe(), "The ranks last issued: rank 0 all_gather(b) as number 1.");
  log->reset();
  EXPECT_EQ(log->count(), 0U);
}

}  // namespace
}  // namespace sherd
