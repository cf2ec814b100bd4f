#include "io/format/rank_timing.hpp"

#include <nlohmann/json.hpp>

namespace sherd::io {

nlohmann::json json_of(const std::vector<RankTiming>& timings) {
  nlohmann::json list = nlohmann::json::array();
  for (const RankTiming& timing : timings) {
    list.push_back({{"rank", timing.rank},
                    {"stall_us", timing.stall_us},
                    {"staged_us", timing.staged_us},
                    {"written_us", timing.written_us},
                    {"durable_us", timing.durable_us},
                    {"copy_us", timing.copy_us},
                    {"bytes", timing.bytes}});
  }
  return list;
}

std::vector<RankTiming> timings_of(const nlohmann::json& list) {
  std::vector<RankTiming> timings;
  for (const nlohmann::json& json : list) {
    timings.push_back(
        {json.at("rank").get<int>(), json.at("stall_us").get<std::int64_t>(),
         json.at("staged_us").get<std::int64_t>(), json.at("written_us").get<std::int64_t>(),
         json.at("durable_us").get<std::int64_t>(), json.at("copy_us").get<std::int64_t>(),
         json.at("bytes").get<std::int64_t>()});
  }
  return timings;
}

}  // namespace sherd::io
