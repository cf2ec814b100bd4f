// What single keys cannot say: contradictions, limits of this launch, keys without effect.
#include "config/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/codecs.hpp"
#include "config/stored_model.hpp"
#include "sherd/base/error.hpp"
#include "sherd/config/training_device.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::config {
namespace {

void check_launch(const CheckContext& c) {
  const FsdpConfig& f = c.config.fsdp_config;
  if (!c.launch) {
    return;
  }
  if (f.world_size && *f.world_size != c.launch->size) {
    c.problem("fsdp_config.world_size",
              fmt::format("{} but the launch has {} rank{}", *f.world_size, c.launch->size,
                          c.launch->size == 1 ? "" : "s"),
              "the two must be equal",
              fmt::format("mpirun -n {} sherd train ..., or leave the key out", *f.world_size));
  }
  if (f.local_rank && *f.local_rank >= c.launch->local_size) {
    c.problem("fsdp_config.local_rank",
              fmt::format("{} but this node has {} rank{}", *f.local_rank, c.launch->local_size,
                          c.launch->local_size == 1 ? "" : "s"),
              "local ranks count from 0", "leave the key out: MPI numbers the ranks");
  }
}

void check_device(const CheckContext& c) {
  const std::string& device = c.config.fsdp_config.device;
  if (device == "cpu") {
    return;
  }
  if (device != "cuda") {
    c.problem("fsdp_config.device", not_one_of(device, {"cpu", "cuda"}), "", "device: cpu");
    return;
  }
  const FsdpConfig& f = c.config.fsdp_config;
  for (const auto& [key, given] :
       {std::pair{"fsdp_config.offload_params", f.offload_params},
        {"fsdp_config.offload_optimizer_state", f.offload_optimizer_state}}) {
    if (given) {
      c.problem(key, "true with device: cuda",
                "in this version a device keeps all that its rank holds",
                "false, and more ranks if the memory is too small");
    }
  }
  if (!c.launch || device_is_emulated()) {  // planning asks for no device
    return;
  }
  if (const runtime::DeviceStatus status = runtime::cuda_status(); !status.available) {
    c.problem("fsdp_config.device", "cuda cannot be used here", status.reason, "device: cpu");
  }
}

void check_precision(const CheckContext& c) {
  const FsdpConfig& f = c.config.fsdp_config;
  if (f.fp16 && !f.mixed_precision) {
    c.problem("fsdp_config.fp16", "true without mixed_precision",
              "it only says which 16 bits mixed_precision uses",
              "mixed_precision: true, or leave fp16 out");
  }
  if (c.given("fsdp_config.initial_loss_scale") && !f.fp16) {
    c.notice("fsdp_config.initial_loss_scale", "no effect without fp16: true");
  }
}

void check_schedule(const CheckContext& c) {
  const FsdpConfig& f = c.config.fsdp_config;
  const fsdp::StrategyRow& strategy = fsdp::row(f.options.strategy);
  if (f.options.accumulation == fsdp::Accumulation::defer_all_reduce &&
      strategy.gradients == fsdp::Level::whole) {
    c.problem("fsdp_config.gradient_accumulation", "defer_all_reduce with NO_SHARD",
              "whole gradients wait for the last micro-batch as it is", "reduce_each");
  }
  const bool kept = f.options.reshard_after_forward == fsdp::ReshardAfterForward::never ||
                    (f.options.reshard_after_forward == fsdp::ReshardAfterForward::by_strategy &&
                     strategy.keep_after_forward);
  if (!f.options.reshard_after_backward && !kept) {
    c.problem("fsdp_config.reshard_after_backward",
              fmt::format("false with {}, which gives groups back after forward", strategy.name),
              "the next micro-batch would gather them again", "reshard_after_forward: false");
  }
}

void check_sharding(const CheckContext& c) {
  FsdpConfig& f = c.config.fsdp_config;
  const bool whole = fsdp::row(f.options.strategy).optimizer == fsdp::Level::whole;
  const char* key = "fsdp_config.shard_optimizer_state";
  if (c.problems.concern("fsdp_config.sharding_strategy")) {
    return;
  }
  check_schedule(c);
  if (whole) {
    if (c.given(key) && f.shard_optimizer_state) {
      c.notice(key, "true has no effect with NO_SHARD: every rank keeps the whole state");
    }
    f.shard_optimizer_state = false;
  } else if (!f.shard_optimizer_state) {
    c.problem(key, fmt::format("false with {}", fsdp::row(f.options.strategy).name),
              "this strategy cuts the optimizer state", "true, or sharding_strategy: NO_SHARD");
  }
}

void check_parallel(const CheckContext& c) {
  const FsdpConfig& f = c.config.fsdp_config;
  if (f.model_parallel_size > 1) {
    c.problem("fsdp_config.model_parallel_size", fmt::format("{}", f.model_parallel_size),
              "tensor parallelism is not in this version", "model_parallel_size: 1");
  }
}

void notice_ineffective(const CheckContext& c) {
  const FsdpConfig& f = c.config.fsdp_config;
  const OptimizerConfig& o = c.config.optimizer;
  if (f.local_rank) {
    c.notice("fsdp_config.local_rank", "checked only: MPI numbers the ranks of a node");
  }
  if (c.given("fsdp_config.use_reentrant") && !f.activation_checkpointing) {
    c.notice("fsdp_config.use_reentrant", "no effect without activation_checkpointing: true");
  }
  if (f.device == "cpu" && f.offload_params) {
    c.notice("fsdp_config.offload_params", "on device cpu there is nothing to offload");
  }
  if (f.device == "cpu" && f.offload_optimizer_state) {
    c.notice("fsdp_config.offload_optimizer_state", "on device cpu there is nothing to offload");
  }
  for (const char* key : {"data.token_bytes", "data.token_byte_order"}) {
    if (!c.config.data.text.empty() && c.given(key)) {
      c.notice(key, "no effect with text: a byte is a token");
    }
  }
  const bool adamw = o.name == OptimizerConfig::Name::adamw;
  for (const char* key : {"optimizer.betas", "optimizer.epsilon"}) {
    if (!adamw && c.given(key)) {
      c.notice(key, "no effect with name: sgd");
    }
  }
  if (adamw && c.given("optimizer.momentum")) {
    c.notice("optimizer.momentum", "no effect with name: adamw (see betas)");
  }
  const bool constant = o.schedule == optim::LrSchedule::Kind::constant;
  if (constant && c.given("optimizer.min_learning_rate")) {
    c.notice("optimizer.min_learning_rate", "no effect with schedule: constant");
  }
  if (o.warmup_steps >= c.config.training.steps && o.warmup_steps > 0) {
    c.notice("optimizer.warmup_steps", "the run ends before the warm-up does");
  }
}

void check_optimizer(const CheckContext& c) {
  const OptimizerConfig& o = c.config.optimizer;
  const bool read = !c.problems.concern("optimizer.learning_rate");
  if (read && o.min_learning_rate > o.learning_rate) {
    c.problem("optimizer.min_learning_rate",
              fmt::format("{} is above learning_rate, {}", o.min_learning_rate, o.learning_rate),
              "cosine falls from learning_rate to it", "min_learning_rate: 0.0");
  }
}

void check_files(const CheckContext& c) {
  const DataConfig& d = c.config.data;
  if (c.problems.concern("data.tokens") || c.problems.concern("data.text")) {
    return;
  }
  if (d.tokens.empty() && d.text.empty()) {
    c.problem("data", "neither tokens nor text is given", "there is nothing to train on",
              "tokens: [train.bin], or text: [book.txt]");
  } else if (!d.tokens.empty() && !d.text.empty()) {
    c.problem("data.text", "given together with tokens", "a run reads one kind of data",
              "keep one of them");
  }
  for (const auto& [key, list] : {std::pair{"data.tokens", &d.tokens}, {"data.text", &d.text}}) {
    for (const auto& file : *list) {
      std::error_code reason;
      if (!std::filesystem::exists(file, reason)) {
        c.problem(key,
                  reason ? fmt::format("{} cannot be read: {}", file.string(), reason.message())
                         : fmt::format("{} does not exist", file.string()),
                  "relative paths start at the working directory", "an existing path");
      }
    }
  }
}

/// Before a run writes into them; a plan may be made where they cannot be reached.
void check_folders(const CheckContext& c) {
  if (!c.launch) {
    return;
  }
  for (const auto& [key, folder] :
       {std::pair{"fsdp_config.checkpoint_dir", &c.config.fsdp_config.checkpoint_dir},
        {"logging.directory", &c.config.logging.directory}}) {
    std::error_code reason;
    const auto kind = std::filesystem::status(*folder, reason).type();
    if (kind == std::filesystem::file_type::none) {
      c.problem(key, fmt::format("{} cannot be used: {}", folder->string(), reason.message()),
                "the run writes there", "another folder");
    } else if (kind != std::filesystem::file_type::directory &&
               kind != std::filesystem::file_type::not_found) {
      c.problem(key, folder->string() + " is not a folder", "the run writes there",
                "another folder");
    }
  }
}

void check_data_fits_model(const CheckContext& c) {
  const DataConfig& d = c.config.data;
  if (c.problems.concern("model") || c.problems.concern("data.sequence_length")) {
    return;
  }
  const models::DecoderFacts m = c.config.model.spec.facts();
  if (!d.text.empty() && m.vocab_size < 256) {
    c.problem("data.text", fmt::format("bytes do not fit a vocabulary of {}", m.vocab_size),
              "a byte is a token below 256", "vocab_size: 256");
  }
  if (d.sequence_length > m.longest_sequence) {
    c.problem("data.sequence_length",
              fmt::format("{} is longer than the model's {}, {}", d.sequence_length,
                          m.longest_sequence_key, m.longest_sequence),
              "positions beyond it have no meaning",
              fmt::format("sequence_length: {}", m.longest_sequence));
  }
}

void check_model(const CheckContext& c) {
  if (c.problems.concern("model")) {
    return;
  }
  try {
    c.config.model.spec.check();
  } catch (const ConfigError& error) {
    c.problem("model", error.what(), "", "");
  }
}

/// Whether `path` is `folder` or lies in it, links followed.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::error_code error;
  const auto whole = [&](const std::filesystem::path& name) {
    auto result = std::filesystem::weakly_canonical(std::filesystem::absolute(name, error), error);
    return result.has_filename() ? result : result.parent_path();
  };
  const auto inner = whole(path);
  const auto outer = whole(folder);
  return inner == outer || inner.parent_path() == outer;
}

void check_load_from(const CheckContext& c) {
  const auto& from = c.config.checkpoint.load_from;
  if (from.empty() || !lies_in(from, c.config.fsdp_config.checkpoint_dir)) {
    return;
  }
  c.problem("checkpoint.load_from", fmt::format("{} is the run's own", from.string()),
            "a run goes on from its own checkpoints by itself, and writes beside them",
            "another fsdp_config.checkpoint_dir, or leave load_from out");
}

void check_checkpoint(const CheckContext& c) {
  if (c.config.checkpoint.keep_last == 1) {
    c.problem("checkpoint.keep_last", "1",
              "while the next one is written the only good one would be gone", "keep_last: 2");
  }
}

}  // namespace

bool CheckContext::given(const std::string& path) const {
  return origin(path).kind != Origin::Kind::default_value;
}

void CheckContext::problem(const std::string& path, const std::string& what, const std::string& why,
                           const std::string& suggestion) const {
  problems.add(origin(path), path, what, why, suggestion);
}

void CheckContext::notice(const std::string& path, const std::string& text) const {
  config.notices.push_back(fmt::format("{}: {}: {}", origin(path).text, path, text));
}

void check_config(const CheckContext& context) {
  check_model(context);
  check_files(context);
  check_folders(context);
  check_data_fits_model(context);
  check_optimizer(context);
  check_launch(context);
  check_device(context);
  check_precision(context);
  check_sharding(context);
  check_parallel(context);
  check_checkpoint(context);
  check_load_from(context);
  notice_ineffective(context);
}

namespace {

/// A resume needs nothing but its checkpoint: the folder it began with may be gone.
void read_folders_model(const CheckContext& context) {
  ModelConfig& model = context.config.model;
  const std::filesystem::path file = model.init_from / "config.json";
  try {
    model.spec = models::read_model(file);
  } catch (const ConfigError& error) {
    std::error_code ignored;
    const bool gone =
        std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found;
    const auto stored =
        gone ? stored_model(context.config.fsdp_config.checkpoint_dir) : std::nullopt;
    if (!stored) {
      context.problem("model.init_from", error.what(), "", "");
      return;
    }
    model.spec = stored->spec;
    context.notice("model.init_from", fmt::format("{} is not there; the sizes are those of {}",
                                                  file.string(), stored->checkpoint.string()));
  }
}

}  // namespace

void resolve_model(const CheckContext& context, bool any_field) {
  ModelConfig& model = context.config.model;
  if (!model.init_from.empty() && (!model.preset.empty() || any_field)) {
    context.problem(
        "model.init_from",
        model.preset.empty() ? "given together with single sizes" : "given together with preset",
        "the sizes come from its config.json", "keep one of them");
    return;
  }
  if (!model.init_from.empty()) {
    read_folders_model(context);
  } else if (!model.preset.empty()) {
    if (auto preset = models::find_preset(model.preset)) {
      model.spec = std::move(*preset);
    } else {
      context.problem("model.preset", not_one_of(model.preset, models::preset_names()), "",
                      "preset: tiny");
    }
  } else if (!any_field && !context.problems.concern("model")) {
    context.problem("model", "nothing says which model to train",
                    "it is the one thing without a "
                    "default",
                    "preset: tiny, or init_from: FOLDER, or vocab_size, hidden_size, ...");
  }
}

}  // namespace sherd::config
