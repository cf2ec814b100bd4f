#include "io/format/lineage.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sherd::io {
namespace {

/// A job that is requeued for ever must not write a manifest that grows for ever: nothing of its
/// first runs is left in a folder that keeps the last few checkpoints.
constexpr std::size_t kMostPastRuns = 512;

}  // namespace

bool is_on_line(const Lineage& head, std::int64_t head_step, const std::string& run,
                std::int64_t step) {
  if (run == head.run) {
    return step <= head_step;
  }
  return std::any_of(head.past.begin(), head.past.end(),
                     [&](const PastRun& past) { return past.run == run && step <= past.until; });
}

std::vector<PastRun> past_after(const Lineage& lineage, std::int64_t step) {
  std::vector<PastRun> past = lineage.past;
  past.push_back({lineage.run, step});
  if (past.size() > kMostPastRuns) {
    past.erase(past.begin(), past.end() - static_cast<std::ptrdiff_t>(kMostPastRuns));
  }
  return past;
}

void write_lineage(const Lineage& lineage, nlohmann::json& json) {
  json["run"] = lineage.run;
  json["parent"] = lineage.parent;
  json["sequence"] = lineage.sequence;
  json["replaces"] = lineage.replaces;
  json["past"] = nlohmann::json::array();
  for (const PastRun& past : lineage.past) {
    json["past"].push_back({{"run", past.run}, {"until", past.until}});
  }
}

Lineage read_lineage(const nlohmann::json& json) {
  Lineage lineage{json.value("run", ""), json.value("parent", ""),
                  json.value("sequence", std::int64_t{0}), json.value("replaces", "")};
  if (const auto past = json.find("past"); past != json.end()) {
    for (const nlohmann::json& one : *past) {
      lineage.past.push_back(
          {one.at("run").get<std::string>(), one.at("until").get<std::int64_t>()});
    }
  }
  return lineage;
}

}  // namespace sherd::io
