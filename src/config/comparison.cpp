#include "sherd/config/comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "config/keys.hpp"
#include "config/render.hpp"
#include "sherd/base/json.hpp"

namespace sherd::config {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_null() ? "not set" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Whatever the order of an object's keys.
bool same(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

/// Calls `visit(path, value)` for every key of a rendered configuration.
template <class Visit>
void for_each_key(const Json& config, Visit visit) {
  for (const auto& [section, content] : config.items()) {
    if (!content.is_object()) {
      visit(section, content);
      continue;
    }
    for (const auto& [name, value] : content.items()) {
      visit(fmt::format("{}.{}", section, name), value);
    }
  }
}

/// Null where there is none.
Json value_at(const Json& config, const std::string& path) {
  const auto dot = path.find('.');
  const auto section = config.find(path.substr(0, dot));
  if (section == config.end() || dot == std::string::npos) {
    return section == config.end() ? Json() : *section;
  }
  const auto value = section->is_object() ? section->find(path.substr(dot + 1)) : section->end();
  return value == section->end() ? Json() : *value;
}

class StoredComparison {
 public:
  StoredComparison(const Json& stored, const TrainConfig& config)
      : stored_(stored),
        config_(config),
        now_(parse_json<Json>(render_json(config), "the configuration")) {
    const models::ModelFamily& family = config.model.spec.family();
    before_.model.spec = models::ModelSpec(family, family.defaults());
  }

  StoredDifferences compare() {
    for (const ConfigKey& key : config_keys(config_.model.spec.family())) {
      compare_key(key);
      known_.insert(key.path);
    }
    compare_rest_of_model();
    return std::move(result_);
  }

 private:
  void compare_key(const ConfigKey& key) {
    Json now = value_at(now_, key.path);
    Json before = value_at(stored_, key.path);
    if (before.is_null()) {  // unset then, or unknown to the version that saved it
      before = key.get(before_);
      now = key.get(config_);
    }
    if (same(before, now)) {
      return;
    }
    if (key.on_resume == OnResume::refused) {
      refuse(key.path, before, now);
    } else if (key.on_resume == OnResume::noted) {
      result_.noted.push_back(
          fmt::format("{} is {} now, the checkpoint was saved {}", key.path, text_of(now),
                      before.is_null() ? "without it" : "with " + text_of(before)));
    }
  }

  /// What a family writes beside its fields decides how the model computes, too.
  void compare_rest_of_model() {
    const Json& before = stored_.at("model");
    for (const auto& [name, now] : now_.at("model").items()) {
      const std::string path = "model." + name;
      if (!known_.contains(path) && before.contains(name) && !same(before.at(name), now)) {
        refuse(path, before.at(name), now);
      }
    }
  }

  void refuse(const std::string& path, const Json& before, const Json& now) {
    const bool of_model = path.rfind("model.", 0) == 0;
    const bool from_folder = of_model && !config_.model.init_from.empty();
    const std::string value = text_of(before);
    result_.refused.push_back(fmt::format(
        "{} is {}, and the checkpoint was saved with {} ({}). Try: {}, or another "
        "fsdp_config.checkpoint_dir",
        path, text_of(now), value,
        of_model ? "its weights would be another model" : "the run would not continue it",
        from_folder
            ? fmt::format("a model.init_from whose config.json has {}", value)
            : fmt::format("{}={}", path, before.is_string() ? before.get<std::string>() : value)));
  }

  const Json& stored_;
  const TrainConfig& config_;
  Json now_;
  TrainConfig before_;  // defaults
  std::set<std::string> known_;
  StoredDifferences result_;
};

}  // namespace

std::vector<comm::Fact> common_facts(const TrainConfig& config) {
  std::vector<comm::Fact> facts;
  for_each_key(parse_json<Json>(render_json(config), "the configuration"),
               [&](const std::string& path, const Json& value) {
                 if (path != "fsdp_config.local_rank") {
                   facts.push_back({path, text_of(value)});
                 }
               });
  return facts;
}

StoredDifferences differences_from_stored(const std::string& stored, const TrainConfig& config) {
  const Json json = parse_json_or_null<Json>(stored);
  if (!json.is_object() || !json.contains("model") || !json.at("model").is_object()) {
    return {};
  }
  return StoredComparison(json, config).compare();
}

}  // namespace sherd::config
