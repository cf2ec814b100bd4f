#include "train/checkpoint_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "sherd/train/hf_config.hpp"

namespace sherd::train {

nn::LlamaConfig model_of(const io::CheckpointReader& checkpoint) {
  const std::string where = fmt::format("checkpoint of step {}", checkpoint.step());
  const auto json = nlohmann::json::parse(checkpoint.common("config"), nullptr, false);
  if (!json.is_object() || !json.contains("model")) {
    throw ConfigError(where +
                      ": its configuration describes no model. Try: a checkpoint written by "
                      "sherd train");
  }
  return parse_hf_config(json.at("model").dump(), where + ", model");
}

}  // namespace sherd::train
