#include "sherd/train/same_input.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "train/data_facts.hpp"

namespace sherd::train {
namespace {

/// Names of sherd's variables in the sources, as string literals.
std::set<std::string> variables_in(const std::filesystem::path& folder) {
  const std::regex name("\"(SHERD_[A-Z_]+)\"");
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") {
      continue;
    }
    std::ifstream in(entry.path());
    std::ostringstream content;
    content << in.rdbuf();
    const std::string text = content.str();
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
      found.insert((*match)[1]);
    }
  }
  return found;
}

TEST(SameInput, EveryVariableIsComparedOrSaidToBeARanksOwn) {
  const std::filesystem::path root = std::filesystem::path(SHERD_TEST_DATA) / ".." / "..";
  std::set<std::string> found = variables_in(root / "src");
  found.merge(variables_in(root / "io"));
  std::set<std::string> listed(shared_variables().begin(), shared_variables().end());
  listed.insert(per_rank_variables().begin(), per_rank_variables().end());
  EXPECT_EQ(listed.size(), shared_variables().size() + per_rank_variables().size());
  EXPECT_EQ(found, listed) << "src/train/same_input.cpp should list the variables that are read";
}

TEST(SameInput, VariablesThatAreSetAreFacts) {
  ::setenv("SHERD_COMM_TIMEOUT", "5\x1b[2J", 1);
  ::setenv("SHERD_LOG", "debug", 1);
  ::unsetenv("SHERD_IO");
  std::string timeout;
  for (const comm::Fact& fact : environment_facts()) {
    EXPECT_NE(fact.name, "SHERD_LOG");
    EXPECT_NE(fact.name, "SHERD_IO");
    timeout = fact.name == "SHERD_COMM_TIMEOUT" ? fact.value : timeout;
  }
  EXPECT_EQ(timeout, R"("5\u001b[2J")");  // nothing that a terminal would obey
}

TEST(SameInput, EachDataFileIsAFact) {
  const auto facts = data_facts(R"({"kind": "text", "files": [
      {"path": "a", "bytes": 3, "xxh3": "00"}, {"path": "b", "bytes": 4, "xxh3": "11"}]})");
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[1].name, "data file 2");
  EXPECT_EQ(facts[1].value, R"("b" (4 bytes, xxh3 11))");
}

}  // namespace
}  // namespace sherd::train
