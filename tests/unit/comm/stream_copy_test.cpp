#include "comm/memory/stream_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sherd/runtime/team.hpp"

namespace sherd {
namespace {

TEST(StreamCopy, CopiesAnyLengthFromAndToAnyAlignment) {
  std::vector<unsigned char> from(1000);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<unsigned char>(i * 7 + 1);
  }
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 200U, 777U}) {
    for (std::size_t to_shift = 0; to_shift < 67; to_shift += 3) {
      for (const std::size_t from_shift : {0U, 1U, 16U}) {
        std::vector<unsigned char> to(1000, 0);
        comm::stream_copy(to.data() + to_shift, from.data() + from_shift, bytes);
        ASSERT_TRUE(std::equal(from.begin() + static_cast<std::ptrdiff_t>(from_shift),
                               from.begin() + static_cast<std::ptrdiff_t>(from_shift + bytes),
                               to.begin() + static_cast<std::ptrdiff_t>(to_shift)));
        const auto zeros = static_cast<std::size_t>(std::count(to.begin(), to.end(), 0));
        ASSERT_GE(zeros, to.size() - bytes) << "something outside was written";
      }
    }
  }
}

TEST(StreamCopy, ByATeamCopiesEveryPiece) {
  std::vector<unsigned char> from(1'000'003), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  }
  runtime::Team team({3, {}, false});
  const runtime::TeamScope scope(&team);
  comm::stream_copy(to.data() + 1, from.data(), from.size() - 2);
  EXPECT_TRUE(std::equal(from.begin(), from.end() - 2, to.begin() + 1));
  EXPECT_EQ(to.front(), 0);
  EXPECT_EQ(to.back(), 0);
}

}  // namespace
}  // namespace sherd
