// load_config(): entries become values, all problems are told at once.
#include "sherd/config/train_config.hpp"

#include <fmt/format.h>

#include <map>

#include "config/checks.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "config/nearest_name.hpp"
#include "config/render.hpp"

namespace sherd::config {
namespace {

/// Keys that are read first. The directory is one of them: its checkpoint knows the sizes when
/// init_from is gone.
bool says_which_model(const ConfigKey& key) {
  return key.path == "model.init_from" || key.path == "model.preset" ||
         key.path == "fsdp_config.checkpoint_dir";
}

/// One configuration on its way from text to TrainConfig.
class Loader {
 public:
  Loader(const std::filesystem::path& file, const std::vector<std::string>& overrides,
         std::optional<LaunchShape> launch)
      : file_(file.string()), launch_(launch) {
    ConfigDocument document = read_document(file, config_sections(), problems_);
    entries_ = std::move(document.entries);
    sections_ = std::move(document.sections);
    for (const std::string& text : overrides) {
      read_override(text, entries_, problems_);
    }
  }

  TrainConfig load() {
    choose_family();
    recognise();
    apply(says_which_model);
    resolve_model(context(), any_model_field_);
    const bool same = &config_.model.spec.family() == family_;  // else a problem is noted already
    apply(
        [same](const ConfigKey& key) { return !says_which_model(key) && (same || !is_size(key)); });
    require();
    check_config(context());
    problems_.throw_if_any();
    config_.resolved_yaml = render_yaml(config_, origins_);
    config_.resolved_json = render_json(config_);
    return std::move(config_);
  }

 private:
  [[nodiscard]] CheckContext context() {
    return {config_, problems_, [this](const std::string& path) { return origin(path); }, launch_};
  }

  [[nodiscard]] Origin origin(const std::string& path) const {
    if (const auto found = origins_.find(path); found != origins_.end()) {
      return found->second;
    }
    Origin place{Origin::Kind::default_value, file_, 0};
    if (const auto found = sections_.find(path.substr(0, path.find('.')));
        found != sections_.end()) {
      place.text = found->second.text;
      place.line = found->second.line;
    }
    return place;
  }

  /// A preset says which family the configuration means, else the sizes it gives do.
  void choose_family() {
    std::vector<std::string> names;
    for (const ConfigEntry& entry : entries_) {
      if (entry.path.rfind("model.", 0) == 0) {
        names.push_back(entry.path.substr(6));
      }
    }
    family_ = &models::family_of_fields(names);
    for (const ConfigEntry& entry : entries_) {
      if (entry.path == "model.preset" && entry.value.IsScalar()) {
        const auto preset = models::find_preset(entry.value.Scalar());
        family_ = preset ? &preset->family() : family_;
      }
    }
    keys_ = config_keys(*family_);
    config_.model.spec = models::ModelSpec(*family_, family_->defaults());
  }

  /// Finds every entry's key; accelerate's spelling fsdp_config.fsdp_x means fsdp_config.x.
  void recognise() {
    ConfigEntries known;
    for (ConfigEntry& entry : entries_) {
      const std::string prefix = "fsdp_config.fsdp_";
      const bool prefixed = entry.path.rfind(prefix, 0) == 0;
      const std::string path =
          prefixed ? "fsdp_config." + entry.path.substr(prefix.size()) : entry.path;
      const ConfigKey* key = find_key(keys_, path);
      if (key == nullptr) {
        unknown(entry);
        continue;
      }
      if (prefixed) {
        config_.notices.push_back(
            fmt::format("{}: {}: read as {}", entry.origin.text, entry.path, path));
        entry.path = path;
      }
      if (!origins_.emplace(entry.path, entry.origin).second) {
        problems_.add(entry.origin, entry.path, "given twice, with and without fsdp_ in front",
                      "only one of them could count", "keep one");
        continue;
      }
      any_model_field_ = any_model_field_ || is_size(*key);
      known.push_back(std::move(entry));
    }
    entries_ = std::move(known);
  }

  void unknown(const ConfigEntry& entry) {
    const auto dot = entry.path.find('.');
    const std::string section = dot == std::string::npos ? "" : entry.path.substr(0, dot);
    const std::string name = entry.path.substr(dot == std::string::npos ? 0 : dot + 1);
    std::vector<std::string> siblings =
        section.empty() ? config_sections() : std::vector<std::string>{};
    std::string elsewhere;
    for (const ConfigKey& key : keys_) {
      if (key.section() == section || key.path.find('.') == std::string::npos) {
        siblings.push_back(key.name());
      }
      if (key.name() == name) {
        elsewhere = key.path;
      }
    }
    std::string suggestion = nearest_name(name, siblings);
    if (!elsewhere.empty()) {
      suggestion = elsewhere;
    }
    problems_.taint(section.empty() || !elsewhere.empty() ? suggestion
                                                          : section + "." + suggestion);
    problems_.add(entry.origin, entry.path, "unknown key", "it would have no effect",
                  suggestion.empty() ? "leave it out; docs/config.md lists the keys" : suggestion);
  }

  template <class Filter>
  void apply(Filter wanted) {
    for (const ConfigEntry& entry : entries_) {
      const ConfigKey* key = find_key(keys_, entry.path);
      if (!wanted(*key)) {
        continue;
      }
      if (const std::string problem = key->set(config_, entry.value); !problem.empty()) {
        problems_.add(entry.origin, entry.path, problem, key->meaning, key->suggestion());
      }
    }
  }

  void require() {
    for (const ConfigKey& key : keys_) {
      if (key.required && origins_.count(key.path) == 0) {
        problems_.add(origin(key.path), key.path, "missing", key.meaning + "; there is no default",
                      key.suggestion());
      }
    }
  }

  std::string file_;
  std::optional<LaunchShape> launch_;
  Problems problems_;
  ConfigEntries entries_;
  std::map<std::string, Origin> sections_;
  std::map<std::string, Origin> origins_;
  TrainConfig config_;
  const models::ModelFamily* family_ = nullptr;
  std::vector<ConfigKey> keys_;
  bool any_model_field_ = false;
};

}  // namespace

optim::LrSchedule TrainConfig::schedule() const {
  return {optimizer.schedule, optimizer.learning_rate, optimizer.min_learning_rate,
          optimizer.warmup_steps, training.steps};
}

TrainConfig load_config(const std::filesystem::path& file,
                        const std::vector<std::string>& overrides) {
  return Loader(file, overrides, std::nullopt).load();
}

TrainConfig load_config(const std::filesystem::path& file,
                        const std::vector<std::string>& overrides, LaunchShape launch) {
  return Loader(file, overrides, launch).load();
}

}  // namespace sherd::config
