// Which model a checkpoint holds, from the configuration saved in it.
#include "weights/checkpoint_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/weights/generate.hpp"

namespace sherd::weights {
namespace {

/// Null when there is none: any program may have written the checkpoint.
nlohmann::json config_of(const io::CheckpointReader& checkpoint) {
  const std::vector<std::string> keys = checkpoint.common_keys();
  if (std::find(keys.begin(), keys.end(), "config") == keys.end()) {
    return {};
  }
  return parse_json_or_null<nlohmann::json>(checkpoint.common("config"));
}

}  // namespace

void require_byte_model(const io::CheckpointReader& checkpoint) {
  const models::DecoderFacts model = model_of(checkpoint).facts();
  const auto json = config_of(checkpoint);
  const bool text = json.contains("data") && json.at("data").contains("text");
  if (model.vocab_size != 256 && !text) {
    throw ConfigError(fmt::format(
        "checkpoint of step {}: its model was trained on token files with a vocabulary of {} (only "
        "bytes can be written out without the tokenizer). Try: a model trained on data.text",
        checkpoint.step(), model.vocab_size));
  }
}

models::ModelSpec model_of(const io::CheckpointReader& checkpoint) {
  const std::string where = fmt::format("checkpoint of step {}", checkpoint.step());
  const auto json = config_of(checkpoint);
  if (!json.is_object() || !json.contains("model")) {
    throw ConfigError(where +
                      ": its configuration describes no model. Try: a checkpoint written by "
                      "sherd train");
  }
  return models::parse_model(json.at("model").dump(), where + ", model");
}

std::filesystem::path base_folder_of(const io::CheckpointReader& checkpoint) {
  const auto json = config_of(checkpoint);
  const auto from = nlohmann::json::json_pointer("/model/init_from");
  return json.is_object() && json.contains(from) && json.at(from).is_string()
             ? json.at(from).get<std::string>()
             : "";
}

}  // namespace sherd::weights
