#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/format.hpp"
#include "sherd/base/check.hpp"
#include "sherd/plan/plan.hpp"

namespace sherd::plan {
namespace {

constexpr std::int64_t kSequenceLength = 2048;

config::TrainConfig config_for(const models::ModelSpec& model) {
  config::TrainConfig config;
  config.model.spec = model;
  config.data.sequence_length = std::min(kSequenceLength, model.facts().longest_sequence);
  config.training.global_batch_size = 0;  // one micro-batch for each rank
  config.training.micro_batch_size = 1;
  return config;
}

void set_checkpointing(config::FsdpConfig& config, const std::string& mode) {
  validate(mode == "off" || mode == "reentrant" || mode == "non_reentrant",
           fmt::format("--activation-checkpointing {} is unknown. Try: off, reentrant, or "
                       "non_reentrant",
                       mode));
  config.activation_checkpointing = mode != "off";
  config.use_reentrant = mode == "reentrant";
}

DType compute_dtype(const config::FsdpConfig& config) {
  return !config.mixed_precision ? DType::f32 : config.fp16 ? DType::f16 : DType::bf16;
}

void set_dtype(config::FsdpConfig& config, const std::string& dtype) {
  validate(dtype == "f32" || dtype == "bf16" || dtype == "f16",
           fmt::format("--dtype {} is not a type to compute in. Try: f32, bf16, or f16", dtype));
  config.mixed_precision = dtype != "f32";
  config.fp16 = dtype == "f16";
}

void set_accumulation(config::FsdpConfig& config, const std::string& mode) {
  for (const fsdp::Accumulation known :
       {fsdp::Accumulation::reduce_each, fsdp::Accumulation::defer_all_reduce,
        fsdp::Accumulation::no_sync}) {
    if (mode == to_text(known)) {
      config.options.accumulation = known;
      return;
    }
  }
  throw ConfigError(fmt::format(
      "--accumulation {} is unknown. Try: reduce_each, defer_all_reduce, or no_sync", mode));
}

void require_positive(const char* flag, const std::optional<std::int64_t>& value) {
  validate(!value || *value > 0, fmt::format("{} is {} (a step needs at least one). Try: {} 1",
                                             flag, value.value_or(0), flag));
}

void apply(const PlanChanges& changes, config::TrainConfig& config) {
  if (changes.strategy) {
    config.fsdp_config.options.strategy = fsdp::parse_strategy(*changes.strategy);
  }
  if (changes.dtype) {
    set_dtype(config.fsdp_config, *changes.dtype);
  }
  if (changes.activation_checkpoint) {
    set_checkpointing(config.fsdp_config, *changes.activation_checkpoint);
  }
  if (changes.accumulation) {
    set_accumulation(config.fsdp_config, *changes.accumulation);
  }
  require_positive("--sequence-length", changes.sequence_length);
  require_positive("--micro-batch", changes.micro_batch);
  require_positive("--accumulate", changes.accumulate);
  config.data.sequence_length = changes.sequence_length.value_or(config.data.sequence_length);
  config.training.micro_batch_size = changes.micro_batch.value_or(config.training.micro_batch_size);
}

constexpr int kMostRanks = 1 << 20;

void check_shape(const PlanShape& shape) {
  validate(shape.nodes > 0 && shape.ranks_per_node > 0 &&
               shape.nodes <= kMostRanks / shape.ranks_per_node,
           fmt::format("{} nodes of {} ranks are no launch (1 to {} ranks in all). Try: --nodes 4 "
                       "--ranks-per-node 8",
                       shape.nodes, shape.ranks_per_node, kMostRanks));
}

void check_length(const config::TrainConfig& config) {
  const std::int64_t most = config.model.spec.facts().longest_sequence;
  validate(config.data.sequence_length <= most,
           fmt::format("a sequence of {} tokens is longer than the model's "
                       "max_position_embeddings, {}. Try: --sequence-length {}",
                       config.data.sequence_length, most, most));
}

std::string name_of(const config::ModelConfig& model) {
  if (!model.preset.empty()) {
    return "preset " + model.preset;
  }
  return model.init_from.empty() ? "model" : model.init_from.string();
}

}  // namespace

PlanSubject plan_subject(config::TrainConfig config, const PlanChanges& changes,
                         const PlanShape& shape) {
  check_shape(shape);
  apply(changes, config);
  check_length(config);
  const std::int64_t ranks = shape.ranks();
  const std::int64_t micro = config.training.micro_batch_size;
  std::int64_t& batch = config.training.global_batch_size;
  if (changes.accumulate || batch == 0) {
    batch = changes.accumulate.value_or(1) * micro * ranks;
  }
  PlanSubject subject;
  subject.name = name_of(config.model);
  const std::int64_t share = (batch + ranks - 1) / ranks;
  subject.micro_batch_sequences = std::min(micro, share);
  subject.micro_batches = (share + micro - 1) / micro;
  subject.compute_dtype = compute_dtype(config.fsdp_config);
  subject.config = std::move(config);
  return subject;
}

config::TrainConfig preset_plan_config(const std::string& preset) {
  const auto model = models::find_preset(preset);
  validate(model.has_value(), fmt::format("there is no preset '{}'. Try: {}", preset,
                                          fmt::join(models::preset_names(), ", ")));
  config::TrainConfig config = config_for(*model);
  config.model.preset = preset;
  return config;
}

config::TrainConfig model_plan_config(const std::filesystem::path& model) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(model, ignored);
  config::TrainConfig config = config_for(
      models::read_model(folder ? model / "config.json" : model, models::ReadFor::planning));
  config.model.init_from = model;
  return config;
}

}  // namespace sherd::plan
