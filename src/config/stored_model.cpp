#include "config/stored_model.hpp"

#include <exception>
#include <nlohmann/json.hpp>

#include "sherd/base/json.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::config {

std::optional<StoredModel> stored_model(const std::filesystem::path& directory) {
  try {
    const std::filesystem::path folder = io::resolve_checkpoint(directory);
    const std::string text = io::CheckpointReader(folder).common("config");
    const auto config = parse_json<nlohmann::json>(text, folder.string());
    return StoredModel{models::parse_model(config.at("model").dump(), folder.string()), folder};
  } catch (const std::exception&) {  // what is missing, the caller says
    return std::nullopt;
  }
}

}  // namespace sherd::config
