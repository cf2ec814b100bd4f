#include "fsdp/fingerprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

using Operation = Fingerprint::Operation;

TEST(Fingerprint, EqualSequencesAgree) {
  Fingerprint a;
  Fingerprint b;
  for (Fingerprint* one : {&a, &b}) {
    one->add(Operation::unshard, 1);
    one->add(Operation::reduce, 2);
  }
  EXPECT_NO_THROW(require_equal({a.record(), b.record()}, {"", "layers.0", "layers.1"}));
}

TEST(Fingerprint, NamesTheRankThatWentAnotherWay) {
  Fingerprint usual;
  usual.add(Operation::reduce, 2);
  Fingerprint odd;
  odd.add(Operation::unshard, 1);
  try {
    require_equal({usual.record(), usual.record(), odd.record()}, {"", "layers.0", "layers.1"});
    FAIL() << "no error";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 2 last issued all_gather(layers.0)"));
    EXPECT_THAT(error.what(), testing::HasSubstr("reduce_scatter(layers.1)"));
  }
}

TEST(Fingerprint, OrderCounts) {
  Fingerprint a;
  a.add(Operation::unshard, 1);
  a.add(Operation::unshard, 2);
  Fingerprint b;
  b.add(Operation::unshard, 2);
  b.add(Operation::unshard, 1);
  EXPECT_THROW(require_equal({a.record(), b.record()}, {"", "x", "y"}), CommError);
}

}  // namespace
}  // namespace sherd::fsdp
