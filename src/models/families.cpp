// The registry of model families. A built-in family is one row of built_in().
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>

#include "models/llama/family.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/regular_file.hpp"
#include "sherd/models/family.hpp"

namespace sherd::models {
namespace {

std::deque<ModelFamily> built_in() {
  return {
      llama_family(),
  };
}

/// A deque, because specifications point to its elements.
std::deque<ModelFamily>& registry() {
  static std::deque<ModelFamily> families = built_in();
  return families;
}

const ModelFamily* family_of_architecture(const nlohmann::json& list) {
  for (const ModelFamily& family : registry()) {
    if (list == nlohmann::json::array({family.architecture})) {
      return &family;
    }
  }
  return nullptr;
}

/// Text that is no JSON object, or of a family nobody knows, is the first family's to refuse.
const ModelFamily& family_of_json(const std::string& text) {
  const auto json = parse_json_or_null<nlohmann::json>(text);
  const ModelFamily* found = nullptr;
  if (json.is_object() && json.contains("model_type")) {
    const auto& type = json.at("model_type");
    found = type.is_string() ? find_family(type.get<std::string>()) : nullptr;
  } else if (json.is_object() && json.contains("architectures")) {
    found = family_of_architecture(json.at("architectures"));
  }
  return found != nullptr ? *found : registry().front();
}

constexpr std::uint64_t kLargestModelFile = std::uint64_t{16} << 20;
constexpr FilePurpose kModelFilePurpose{"it holds the model's sizes",
                                        "a folder with config.json and model.safetensors"};

}  // namespace

ModelSpec::ModelSpec() : family_(&registry().front()), sizes_(family_->defaults()) {}

ModelSpec::ModelSpec(const ModelFamily& family, Sizes sizes)
    : family_(&family), sizes_(std::move(sizes)) {}

const ModelFamily& register_family(ModelFamily family) {
  validate(find_family(family.name) == nullptr,
           fmt::format("there is a model family '{}' already (config.json's model_type says which "
                       "one is meant). Try: another name",
                       family.name));
  return registry().emplace_back(std::move(family));
}

const ModelFamily* find_family(const std::string& name) {
  for (const ModelFamily& family : registry()) {
    if (family.name == name) {
      return &family;
    }
  }
  return nullptr;
}

const ModelFamily& family_of_fields(const std::vector<std::string>& names) {
  const auto known = [&](const ModelFamily& family) {
    return std::count_if(family.fields.begin(), family.fields.end(), [&](const Field& each) {
      return std::find(names.begin(), names.end(), each.name) != names.end();
    });
  };
  const auto& all = registry();
  return *std::max_element(all.begin(), all.end(), [&](const ModelFamily& a, const ModelFamily& b) {
    return known(a) < known(b);
  });
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelFamily& family : registry()) {
    for (const Preset& preset : family.presets) {
      names.push_back(preset.name);
    }
  }
  return names;
}

std::optional<ModelSpec> find_preset(const std::string& name) {
  for (const ModelFamily& family : registry()) {
    for (const Preset& preset : family.presets) {
      if (preset.name == name) {
        return ModelSpec(family, preset.sizes);
      }
    }
  }
  return std::nullopt;
}

ModelSpec parse_model(const std::string& json, const std::string& where, ReadFor purpose) {
  const ModelFamily& family = family_of_json(json);
  return {family, family.parse(json, where, purpose)};
}

ModelSpec read_model(const std::filesystem::path& file, ReadFor purpose) {
  return parse_model(read_small_file(file, kLargestModelFile, kModelFilePurpose), file.string(),
                     purpose);
}

}  // namespace sherd::models
