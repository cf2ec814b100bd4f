#include "train/data_facts.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sherd/base/json.hpp"

namespace sherd::train {

std::vector<comm::Fact> data_facts(const std::string& manifest) {
  const auto json = parse_json<nlohmann::json>(manifest, "the data's description");
  std::vector<comm::Fact> facts;
  std::size_t number = 0;
  for (const auto& file : json.at("files")) {
    facts.push_back({fmt::format("data file {}", ++number),
                     fmt::format("{} ({} bytes, xxh3 {})", file.at("path").dump(),
                                 file.at("bytes").dump(), file.at("xxh3").get<std::string>())});
  }
  return facts;
}

}  // namespace sherd::train
