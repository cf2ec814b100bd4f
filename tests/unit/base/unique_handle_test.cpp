#include "sherd/base/unique_handle.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

namespace sherd {
namespace {

std::vector<int>& closed() {
  static std::vector<int> handles;
  return handles;
}

struct Traits {
  using Raw = int;
  static Raw null() { return -1; }
  static void close(Raw raw) noexcept { closed().push_back(raw); }
};
using Handle = UniqueHandle<Traits>;

struct UniqueHandleTest : testing::Test {
  UniqueHandleTest() { closed().clear(); }
};

static_assert(!std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>);
static_assert(std::is_nothrow_move_constructible_v<Handle>);

TEST_F(UniqueHandleTest, ClosesOnce) {
  {
    Handle handle(7);
    EXPECT_TRUE(handle);
    EXPECT_EQ(handle.get(), 7);
  }
  EXPECT_EQ(closed(), std::vector<int>{7});
}

TEST_F(UniqueHandleTest, NothingIsNotClosed) {
  { const Handle handle; }
  EXPECT_TRUE(closed().empty());
}

TEST_F(UniqueHandleTest, AMoveTakesTheDutyAlong) {
  {
    Handle first(7);
    const Handle second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT: what a moved-from handle is, is part of its contract
    EXPECT_EQ(second.get(), 7);
  }
  EXPECT_EQ(closed(), std::vector<int>{7});
}

TEST_F(UniqueHandleTest, MoveAssignmentClosesWhatWasThere) {
  {
    Handle first(7);
    Handle second(8);
    first = std::move(second);
    EXPECT_EQ(closed(), std::vector<int>{7});
    Handle& same = first;
    first = std::move(same);
    EXPECT_EQ(first.get(), 8);
  }
  EXPECT_EQ(closed(), (std::vector<int>{7, 8}));
}

TEST_F(UniqueHandleTest, ReleaseGivesItAway) {
  {
    Handle handle(7);
    EXPECT_EQ(handle.release(), 7);
  }
  EXPECT_TRUE(closed().empty());
}

TEST_F(UniqueHandleTest, ResetReplaces) {
  {
    Handle handle(7);
    handle.reset(9);
    EXPECT_EQ(closed(), std::vector<int>{7});
  }
  EXPECT_EQ(closed(), (std::vector<int>{7, 9}));
}

}  // namespace
}  // namespace sherd
