#include "sherd/comm/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "sherd/base/error.hpp"
#include "sherd/base/host_name.hpp"
#include "sherd/comm/agree.hpp"

namespace sherd::comm {
namespace {

constexpr std::size_t kMostKinds = 8;  // of ranks, whose values travel
constexpr std::size_t kMostNames = 8;  // in a message
constexpr std::size_t kLongest = 160;  // value in a message
constexpr char kUnit = '\x1f';
constexpr char kRecord = '\x1e';

std::string pack(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    text.append(fact.name).append(1, kUnit).append(fact.value).append(1, kRecord);
  }
  return text;
}

std::vector<Fact> unpack(std::string_view text) {
  std::vector<Fact> facts;
  while (!text.empty()) {
    const std::string_view record = text.substr(0, text.find(kRecord));
    const std::size_t middle = record.find(kUnit);
    facts.push_back(
        {std::string(record.substr(0, middle)),
         middle == std::string_view::npos ? "" : std::string(record.substr(middle + 1))});
    text.remove_prefix(std::min(text.size(), record.size() + 1));
  }
  return facts;
}

/// Ranks that have the same facts.
struct RanksAlike {
  std::vector<int> ranks;  // by their names
  std::string host;        // of the first
  std::vector<Fact> facts;

  [[nodiscard]] std::string value(const std::string& name) const {
    const auto found = std::find_if(facts.begin(), facts.end(),
                                    [&](const Fact& fact) { return fact.name == name; });
    return found == facts.end() ? "not set" : found->value;
  }
};

std::string cut(std::string text) {
  if (text.size() > kLongest) {
    text.resize(kLongest);
    text += "...";
  }
  return text;
}

/// "rank 3 (node7)", "ranks 0-2, 4 (0: node1)"
std::string describe(std::vector<int> ranks, const std::string& host) {
  if (ranks.size() == 1) {
    return fmt::format("rank {} ({})", ranks.front(), host);
  }
  const int first = ranks.front();
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> runs;
  for (std::size_t i = 0, next = 0; i < ranks.size(); i = next) {
    for (next = i + 1; next < ranks.size() && ranks[next] == ranks[next - 1] + 1; ++next) {
    }
    runs.push_back(next == i + 1 ? std::to_string(ranks[i])
                                 : fmt::format("{}-{}", ranks[i], ranks[next - 1]));
  }
  return fmt::format("ranks {} ({}: {})", fmt::join(runs, ", "), first, host);
}

/// "optimizer.learning_rate is 0.001 on rank 0 (a) and 0.05 on rank 1 (b)"; "" where all agree.
std::string difference(const std::string& name, const std::vector<RanksAlike>& kinds) {
  std::vector<RanksAlike> by_value;
  for (const RanksAlike& kind : kinds) {
    const std::string value = kind.value(name);
    const auto same = std::find_if(by_value.begin(), by_value.end(), [&](const RanksAlike& other) {
      return other.value(name) == value;
    });
    if (same == by_value.end()) {
      by_value.push_back(kind);
    } else {
      same->ranks.insert(same->ranks.end(), kind.ranks.begin(), kind.ranks.end());
    }
  }
  if (by_value.size() == 1) {
    return "";
  }
  std::vector<std::string> parts;
  for (const RanksAlike& kind : by_value) {
    parts.push_back(
        fmt::format("{} on {}", cut(kind.value(name)), describe(kind.ranks, kind.host)));
  }
  return fmt::format("{} is {}", name, fmt::join(parts, " and "));
}

/// In the order of the first rank's facts, then those that it lacks.
std::vector<std::string> names_of(const std::vector<RanksAlike>& kinds) {
  std::vector<std::string> names;
  for (const RanksAlike& kind : kinds) {
    for (const Fact& fact : kind.facts) {
      if (std::find(names.begin(), names.end(), fact.name) == names.end()) {
        names.push_back(fact.name);
      }
    }
  }
  return names;
}

std::string message(const std::vector<RanksAlike>& kinds, std::size_t other_ranks,
                    const FactsAdvice& advice) {
  std::vector<std::string> differences;
  for (const std::string& name : names_of(kinds)) {
    if (std::string text = difference(name, kinds); !text.empty()) {
      differences.push_back(std::move(text));
    }
  }
  const std::size_t all = differences.size();
  differences.resize(std::min(all, kMostNames));
  std::string more = all > kMostNames ? fmt::format("; and {} more", all - kMostNames) : "";
  if (other_ranks > 0) {
    more += fmt::format("; and {} ranks have others again", other_ranks);
  }
  return fmt::format("the ranks differ: {}{} ({}). Try: {}", fmt::join(differences, "; "), more,
                     advice.why, advice.suggestion);
}

struct Kinds {
  std::vector<RanksAlike> kinds;
  std::vector<int> speakers;    // one of each, by its number in the communicator
  std::size_t other_ranks = 0;  // of kinds beyond kMostKinds
};

using HashAndRank = std::array<std::int64_t, 2>;

Kinds by_hash(const std::vector<HashAndRank>& all) {
  Kinds result;
  std::map<std::int64_t, std::size_t> known;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [kind, is_new] = known.emplace(all[i][0], result.kinds.size());
    if (is_new && result.kinds.size() < kMostKinds) {
      result.kinds.emplace_back();
      result.speakers.push_back(static_cast<int>(i));
    }
    if (kind->second < result.kinds.size()) {
      result.kinds[kind->second].ranks.push_back(static_cast<int>(all[i][1]));
    } else {
      ++result.other_ranks;
    }
  }
  return result;
}

}  // namespace

void require_same_facts(Communicator& comm, int rank, const std::vector<Fact>& facts,
                        const FactsAdvice& advice) {
  const std::string mine = pack(facts);
  const HashAndRank here{text_hash(mine), rank};
  std::vector<HashAndRank> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(here.data(), all.data(), here.size(), DType::i64).wait();
  auto [kinds, speakers, other_ranks] = by_hash(all);
  if (kinds.size() == 1) {
    return;
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    std::string text = mine;
    broadcast_text(comm, text, speakers[k]);
    kinds[k].facts = unpack(text);
    kinds[k].host = host_name();
    broadcast_text(comm, kinds[k].host, speakers[k]);
  }
  throw ConfigError(message(kinds, other_ranks, advice));
}

}  // namespace sherd::comm
