// What a checkpoint of a run holds: tensors as views, texts, and how far the run is.
#include "train/state.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "sherd/base/check.hpp"
#include "sherd/base/json.hpp"

namespace sherd::train {
namespace {

dtensor::DTensor state_tensor(const ShardSegment& segment, const Tensor& slot,
                              const std::string& name) {
  dtensor::ShardSpec spec{segment.name + "." + name,
                          segment.global_shape,
                          slot.dtype(),
                          segment.placement,
                          segment.count > 0 ? segment.parameter_begin : 0,
                          segment.count,
                          false,
                          {}};
  const std::int64_t begin = segment.count > 0 ? segment.shard_begin : 0;
  return {std::move(spec), slot.slice(begin, segment.count)};
}

/// Which update changes a parameter; those that none does can be copied last.
std::map<std::string, int> groups_of(std::span<const ParameterShard> shards) {
  std::map<std::string, int> groups;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const ShardSegment& segment : shards[i].segments) {
      groups[segment.name] = static_cast<int>(i);
    }
  }
  return groups;
}

}  // namespace

dtensor::StateDict make_state(fsdp::ShardedModel& model, const optim::Optimizer& optimizer) {
  dtensor::StateDict state = model.state_dict();
  const auto shards = optimizer.parameters().shards();
  const std::map<std::string, int> groups = groups_of(shards);
  for (auto& [key, tensor] : state.tensors) {
    const auto group = groups.find(tensor.spec.name);
    tensor.stage_group = group != groups.end() ? group->second : static_cast<int>(shards.size());
  }
  for (const auto& [name, slot] : optimizer.state()) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      for (const ShardSegment& segment : shards[i].segments) {
        dtensor::DTensor tensor = state_tensor(segment, slot[i], name);
        tensor.stage_group = static_cast<int>(i);
        state.tensors.emplace(fmt::format("optimizer.{}.{}", segment.name, name),
                              std::move(tensor));
      }
    }
  }
  state.common = {{"trainer", ""}, {"config", ""}, {"data", ""}};
  return state;
}

std::string to_json(const Progress& progress) {
  return nlohmann::json{{"step", progress.step},
                        {"optimizer_steps", progress.optimizer_steps},
                        {"loss_scale", progress.loss_scale},
                        {"good_steps", progress.good_steps},
                        {"optimizer", progress.optimizer},
                        {"global_batch_size", progress.global_batch_size},
                        {"sequence_length", progress.sequence_length},
                        {"seed", progress.seed}}
      .dump();
}

Progress parse_progress(const std::string& text) {
  const std::string what = "the checkpoint's progress";
  const auto json = parse_json<nlohmann::json>(text, what);
  const auto whole = [&](const char* key) {
    return whole_number<std::int64_t>(json.at(key), what + ": " + key);
  };
  try {
    const std::int64_t step = whole("step");
    return {.step = step,
            .optimizer_steps = json.contains("optimizer_steps") ? whole("optimizer_steps") : step,
            .loss_scale = json.value("loss_scale", 0.0),
            .good_steps = json.contains("good_steps") ? whole("good_steps") : 0,
            .optimizer = json.at("optimizer").get<std::string>(),
            .global_batch_size = whole("global_batch_size"),
            .sequence_length = whole("sequence_length"),
            .seed = whole_number<std::uint64_t>(json.at("seed"), what + ": seed")};
  } catch (const nlohmann::json::exception& error) {
    throw not_json(what, error.what());
  }
}

void check_continues(const Progress& saved, const Progress& now) {
  const auto require = [](const char* key, const auto& before, const auto& after) {
    validate(before == after,
             fmt::format("{} is {} and the checkpoint was saved with {} (the resumed run would not "
                         "continue it). Try: {}={}, or another fsdp_config.checkpoint_dir",
                         key, after, before, key, before));
  };
  require("optimizer.name", saved.optimizer, now.optimizer);
  require("training.global_batch_size", saved.global_batch_size, now.global_batch_size);
  require("data.sequence_length", saved.sequence_length, now.sequence_length);
  require("training.seed", saved.seed, now.seed);
}

}  // namespace sherd::train
