#include "fsdp/prefetch_order.hpp"

#include <gtest/gtest.h>

namespace sherd::fsdp {
namespace {

TEST(PrefetchOrder, StartsWithDeclarationOrder) {
  const PrefetchOrder order(4);
  EXPECT_EQ(order.first(), 1U);
  EXPECT_EQ(order.last(), 3U);
  EXPECT_EQ(order.after(1, 1), 2U);
  EXPECT_EQ(order.after(1, 2), 3U);
  EXPECT_EQ(order.after(3, 1), 0U);
  EXPECT_EQ(order.before(3, 1), 2U);
  EXPECT_EQ(order.before(1, 1), 0U);
}

TEST(PrefetchOrder, FollowsWhatForwardRan) {
  PrefetchOrder order(4);
  order.start_forward();
  order.record(3);
  order.record(1);
  order.end_forward();
  EXPECT_EQ(order.first(), 3U);
  EXPECT_EQ(order.last(), 1U);
  EXPECT_EQ(order.after(3, 1), 1U);
  EXPECT_EQ(order.before(1, 1), 3U);
}

TEST(PrefetchOrder, OfARootAloneIsEmpty) {
  PrefetchOrder order(1);
  EXPECT_EQ(order.first(), 0U);
  order.start_forward();
  order.end_forward();
  EXPECT_EQ(order.last(), 0U);
}

}  // namespace
}  // namespace sherd::fsdp
