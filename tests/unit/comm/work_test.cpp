#include "sherd/comm/work.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

using comm::Work;

/// Complete after `tests` calls of test(); counts what is asked of it.
struct Counted final : comm::WorkState {
  Counted(int& waits, int& deaths, int tests, int* asked = nullptr)
      : waits_(waits), deaths_(deaths), tests_(tests), asked_(asked) {}
  ~Counted() override { ++deaths_; }
  bool test() override {
    if (asked_ != nullptr) {
      ++*asked_;
    }
    return tests_-- <= 0;
  }
  void wait() override { ++waits_; }
  int& waits_;
  int& deaths_;
  int tests_;
  int* asked_;
};

struct Failing final : comm::WorkState {
  bool test() override { throw CommError("no"); }
  void wait() override { throw CommError("no"); }
};

struct WorkTest : testing::Test {
  Work make(int tests = 1000000000) {
    return Work(std::make_unique<Counted>(waits, deaths, tests));
  }
  int waits = 0;
  int deaths = 0;
};

TEST_F(WorkTest, IsCompleteWhenMadeFromNothing) {
  Work work;
  EXPECT_TRUE(work.test());
  work.wait();
}

TEST_F(WorkTest, WaitsOnce) {
  Work work = make();
  work.wait();
  work.wait();
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(deaths, 1);
}

TEST_F(WorkTest, IsNotWaitedForAfterTestWasTrue) {
  {
    Work work = make(1);
    EXPECT_FALSE(work.test());
    EXPECT_TRUE(work.test());
  }
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(deaths, 1);
}

TEST_F(WorkTest, IsWaitedForWhenDropped) {
  { const Work work = make(); }
  EXPECT_EQ(waits, 1);
}

TEST_F(WorkTest, IsWaitedForWhenAssignedOver) {
  Work work = make();
  work = make();
  EXPECT_EQ(waits, 1);
  Work moved = std::move(work);
  EXPECT_EQ(waits, 1);
  moved.wait();
  EXPECT_EQ(deaths, 2);
}

TEST_F(WorkTest, ThrowsWhatTheOperationThrew) {
  Work tested(std::make_unique<Failing>());
  EXPECT_THROW(static_cast<void>(tested.test()), CommError);
  EXPECT_TRUE(tested.test());
  Work waited(std::make_unique<Failing>());
  EXPECT_THROW(waited.wait(), CommError);
  { const Work dropped(std::make_unique<Failing>()); }
}

TEST_F(WorkTest, AnExceptionOnItsWayOutIsNotHeldUp) {
  try {
    const Work work = make(3);
    throw std::runtime_error("first");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(deaths, 1);
}

/// A whole engine may be on its way out: its operations are not waited for one after the other.
TEST_F(WorkTest, OperationsBehindOneThatWasGivenUpAreAskedOnce) {
  int asked = 0;
  try {
    const Work second(std::make_unique<Counted>(waits, deaths, 1000000000, &asked));
    const Work first = make();
    throw std::runtime_error("both are dropped");
  } catch (const std::runtime_error&) {
  }
  EXPECT_LE(asked, 2);
  EXPECT_EQ(deaths, 0);
}

TEST_F(WorkTest, SynchronizeIsWaitWhereTheHostWaits) {
  Work work = make();
  work.synchronize();
  work.synchronize();
  EXPECT_EQ(waits, 1);
}

}  // namespace
}  // namespace sherd
