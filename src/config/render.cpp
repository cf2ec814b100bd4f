// The resolved configuration, as YAML for people and as JSON for checkpoints.
#include "config/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "config/keys.hpp"
#include "sherd/base/json.hpp"

namespace sherd::config {
namespace {

bool plain(const std::string& text) {
  const auto ok = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '/' || c == '.' || c == '-';
  };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), ok) && text != "true" && text != "false" &&
         text != "null";
}

std::string yaml(const nlohmann::json& value) {
  if (value.is_array()) {
    std::string list;
    for (const auto& item : value) {
      list.append(list.empty() ? "" : ", ").append(yaml(item));
    }
    return "[" + list + "]";
  }
  if (value.is_string() && plain(value.get<std::string>())) {
    return value.get<std::string>();
  }
  return value.dump();
}

/// A key is shown as a comment when it is unset, or a size that init_from's config.json says.
bool commented(const ConfigKey& key, const TrainConfig& config, const nlohmann::json& value) {
  return value.is_null() || (is_size(key) && !config.model.init_from.empty());
}

std::string origin_of(const ConfigKey& key, const TrainConfig& config,
                      const std::map<std::string, Origin>& origins) {
  if (const auto found = origins.find(key.path); found != origins.end()) {
    return found->second.text;
  }
  if (is_size(key) && !config.model.init_from.empty()) {
    return (config.model.init_from / "config.json").string();
  }
  if (is_size(key) && !config.model.preset.empty()) {
    return "preset " + config.model.preset;
  }
  return "default";
}

}  // namespace

std::string render_yaml(const TrainConfig& config, const std::map<std::string, Origin>& origins) {
  std::string out;
  std::string section;
  for (const ConfigKey& key : config_keys(config.model.spec.family())) {
    const bool top = key.path.find('.') == std::string::npos;
    if (!top && key.section() != section) {
      section = key.section();
      out += section + ":\n";
    }
    const auto value = key.get(config);
    const std::string text = fmt::format("{}: {}", key.name(), value.is_null() ? "" : yaml(value));
    out += fmt::format("{}{}{:<40}  # {}\n", top ? "" : "  ",
                       commented(key, config, value) ? "# " : "", text,
                       value.is_null() ? "not set" : origin_of(key, config, origins));
  }
  return out;
}

std::string render_json(const TrainConfig& config) {
  nlohmann::ordered_json json;
  for (const ConfigKey& key : config_keys(config.model.spec.family())) {
    const auto value = key.get(config);
    if (value.is_null()) {
      continue;
    }
    if (key.path.find('.') == std::string::npos) {
      json[key.path] = value;
    } else {
      json[key.section()][key.name()] = value;
    }
  }
  const auto sizes =
      parse_json<nlohmann::ordered_json>(config.model.spec.write(), "the model's sizes");
  for (const auto& [name, value] : sizes.items()) {
    json["model"][name] = value;
  }
  return json.dump(2);
}

}  // namespace sherd::config
