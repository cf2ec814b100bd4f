#include "sherd/comm/facts.hpp"

#include <gmock/gmock.h>

#include "sherd/base/error.hpp"
#include "sherd/base/host_name.hpp"
#include "sherd/comm/backends.hpp"
#include "support/message_of.hpp"

namespace sherd::comm {
namespace {

using testing::HasSubstr;
using testing::Not;

const FactsAdvice kAdvice{"they would go apart", "one file"};

/// What ranks are told, which must be the same on all, when each has what `facts_of` says.
std::string told(int size, const std::function<std::vector<Fact>(int rank)>& facts_of) {
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  run_inproc(size, [&](Communicator& comm) {
    texts[static_cast<std::size_t>(comm.rank())] = io::test::message<ConfigError>(
        [&] { require_same_facts(comm, comm.rank(), facts_of(comm.rank()), kAdvice); });
  });
  for (const std::string& text : texts) {
    EXPECT_EQ(text, texts.front());
  }
  return texts.front();
}

TEST(SameFacts, RanksThatAgreeGoOn) {
  for (const int size : {1, 2, 5}) {
    EXPECT_EQ(told(size,
                   [](int) {
                     return std::vector<Fact>{{"a", "1"}, {"b", "x y"}};
                   }),
              "nothing was thrown");
    EXPECT_EQ(told(size, [](int) { return std::vector<Fact>(); }), "nothing was thrown");
  }
}

TEST(SameFacts, TheMessageHasKeyValuesAndRanks) {
  const std::string text = told(3, [](int rank) {
    return std::vector<Fact>{{"same", "1"}, {"rate", rank == 1 ? "0.05" : "0.001"}};
  });
  EXPECT_EQ(text, "the ranks differ: rate is 0.001 on ranks 0, 2 (0: " + host_name() +
                      ") and 0.05 on rank 1 (" + host_name() +
                      ") (they would go apart). Try: one file");
}

TEST(SameFacts, AValueThatSomeLackIsADifference) {
  const std::string text = told(4, [](int rank) {
    return rank == 2 ? std::vector<Fact>{{"a", "1"}} : std::vector<Fact>{{"a", "1"}, {"b", "2"}};
  });
  EXPECT_THAT(text, HasSubstr("b is 2 on ranks 0-1, 3 (0: "));
  EXPECT_THAT(text, HasSubstr("and not set on rank 2 ("));
  EXPECT_THAT(text, Not(HasSubstr("a is")));
}

TEST(SameFacts, ValuesAreGroupedNameByName) {
  // Three kinds of ranks, of which two share each value.
  const std::string text = told(3, [](int rank) {
    return std::vector<Fact>{{"a", rank == 0 ? "1" : "2"}, {"b", rank == 2 ? "4" : "3"}};
  });
  EXPECT_THAT(text, HasSubstr("a is 1 on rank 0 "));
  EXPECT_THAT(text, HasSubstr("and 2 on ranks 1-2 (1: "));
  EXPECT_THAT(text, HasSubstr("b is 3 on ranks 0-1 (0: "));
  EXPECT_THAT(text, HasSubstr("and 4 on rank 2 "));
}

TEST(SameFacts, ALongMessageIsCut) {
  const std::string text = told(10, [](int rank) {
    std::vector<Fact> facts;
    for (int i = 0; i < 12; ++i) {
      facts.push_back({"key" + std::to_string(i), std::to_string(rank)});
    }
    return facts;
  });
  EXPECT_THAT(text, HasSubstr("key7 is 0 on rank 0 "));
  EXPECT_THAT(text, Not(HasSubstr("key8")));
  EXPECT_THAT(text, HasSubstr("; and 4 more; and 2 ranks have others again ("));
}

}  // namespace
}  // namespace sherd::comm
