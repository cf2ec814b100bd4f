// YAML's merge keys, which yaml-cpp reads as plain keys.
#include "config/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sherd::config {
namespace {

constexpr std::size_t kMostMaps = 1000;  // that one map may merge

bool is_merge_key(const YAML::Node& key) {
  return key.Scalar() == "<<" && key.Tag() != "!";  // "!": in quotes
}

class Merger {
 public:
  explicit Merger(const MapProblem& report) : report_(report) {}

  void add(const YAML::Node& map) {
    if (met_.size() == kMostMaps) {
      report_(map, "<<", fmt::format("merges more than {} maps", kMostMaps), "", "fewer");
    }
    if (met_.size() >= kMostMaps || met(map)) {
      return;
    }
    met_.push_back(map);
    std::list<YAML::Node> others;
    take_own(map, others);
    for (const YAML::Node& other : others) {
      merge(other);
    }
  }

  std::list<MapEntry> take() { return std::move(entries_); }

 private:
  [[nodiscard]] bool met(const YAML::Node& map) const {
    return std::any_of(met_.begin(), met_.end(),
                       [&](const YAML::Node& each) { return each.is(map); });
  }

  void take_own(const YAML::Node& map, std::list<YAML::Node>& others) {
    std::map<std::string, int> lines;
    for (const auto& pair : map) {
      if (!pair.first.IsScalar()) {
        report_(pair.first, "", "a key is not a plain word", "", "key: value");
        continue;
      }
      const std::string name = pair.first.Scalar();
      const int line = pair.first.Mark().line + 1;
      if (const auto [first, fresh] = lines.emplace(name, line); !fresh) {
        report_(pair.first, name, fmt::format("given twice, first in line {}", first->second),
                "only one of them could count", "keep one");
      } else if (is_merge_key(pair.first)) {
        others.push_back(pair.second);
      } else if (names_.insert(name).second) {
        entries_.push_back({name, pair.first, pair.second});
      }
    }
  }

  void merge(const YAML::Node& other) {
    if (other.IsMap()) {
      add(other);
      return;
    }
    bool maps = other.IsSequence();
    for (std::size_t i = 0; maps && i < other.size(); ++i) {
      maps = other[i].IsMap();
    }
    if (!maps) {
      report_(other, "<<", "is not a map or a list of maps", "it merges keys of other maps",
              "<<: *name, with &name at the other map");
      return;
    }
    for (const YAML::Node& each : other) {
      add(each);
    }
  }

  const MapProblem& report_;
  std::list<YAML::Node> met_;
  std::set<std::string> names_;
  std::list<MapEntry> entries_;
};

}  // namespace

std::list<MapEntry> merged_entries(const YAML::Node& map, const MapProblem& report) {
  Merger merger(report);
  merger.add(map);
  return merger.take();
}

}  // namespace sherd::config
