// TrainingRun: what happens before the first step.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/comm/facts.hpp"
#include "sherd/comm/timeout.hpp"
#include "sherd/config/options.hpp"
#include "sherd/config/training_device.hpp"
#include "sherd/io/inspect.hpp"
#include "sherd/train/same_input.hpp"
#include "train/data_facts.hpp"
#include "train/line_file.hpp"
#include "train/run.hpp"

namespace sherd::train {
namespace {

/// A save waits for other ranks' disks too, hence longer than collectives do; not for ever, for one
/// of them may be lost.
double seconds_to_commit() {
  return 3.0 * std::chrono::duration<double>(comm::comm_timeout()).count();
}

}  // namespace

TrainingRun::TrainingRun(runtime::Runtime& runtime, const config::TrainConfig& config)
    : runtime_(runtime),
      config_(config),
      comms_(comm::make_mesh_comms(config.fsdp_config.comm_backend,
                                   config.fsdp_config.comm_progress)) {
  require_same_input(world(), runtime_.rank(), config_);
  comm::all_or_config_error(ranks(), [&] {
    device_ = config::open_training_device(config_.fsdp_config, runtime_.topology());
  });
  on_device_.emplace(device_);
  open_data();
  comm::all_or_config_error(ranks(), [&] { refuse_to_overwrite(); });
  look_for_stored_run();
  if (!may_resume_) {
    open_weights();  // before anything is made, as they may be the wrong ones
  }
  write_config();
  make_sharded_model();
  optimizer_ = config::make_optimizer(config_.optimizer, model_->parameters());
  if (config_.fsdp_config.fp16) {
    scaler_.emplace(
        optim::LossScalerOptions{.initial_scale = config_.fsdp_config.initial_loss_scale});
  }
  state_ = make_state(*model_, *optimizer_);
  checkpointer_.emplace(
      comms_, io::CheckpointerOptions{.directory = config_.fsdp_config.checkpoint_dir,
                                      .keep_last = config_.checkpoint.keep_last,
                                      .overlap = config_.checkpoint.overlap,
                                      .commit_timeout_seconds = seconds_to_commit(),
                                      .keep_every = config_.checkpoint.keep_every,
                                      .verify_after_save = config_.checkpoint.verify_after_save,
                                      .layout = config_.checkpoint.layout,
                                      .backend = config_.checkpoint.backend,
                                      .staging_bytes_per_node = static_cast<std::uint64_t>(
                                          config_.checkpoint.staging_bytes_per_node)});
  optimizer_->set_update_hook([this](std::size_t shard) { wait_for_staging(shard); });
  if (!resume()) {
    fill_from_weights();
  }
  open_outputs();
  prepare_saves();
}

void TrainingRun::say(const std::string& text) {
  if (runtime_.rank() == 0 && console_) {
    console_->message(text);
  } else {
    log::info(text);
  }
}

/// Two runs in one folder would mix their lines, and each would cut off what the other has written.
void TrainingRun::own_log_folder() {
  try {
    log_owner_.emplace(config_.logging.directory);
  } catch (const IoError& error) {  // a full or missing disk, of which the writer will tell
    log::debug(error.what());
  }
}

void TrainingRun::write_config() {
  comm::all_or_config_error(ranks(), [&] {
    if (runtime_.rank() != 0) {
      return;
    }
    const auto file = config_.logging.directory / "config.yaml";
    std::error_code error;
    std::filesystem::create_directories(config_.logging.directory, error);
    own_log_folder();
    const int problem = replace_text(file, config_.resolved_yaml);
    if (problem == 0) {
      return;
    }
    const std::string text = fmt::format(
        "{} cannot be written: {} (the run's log goes there). "
        "Try: another logging.directory",
        file.string(), std::strerror(problem));
    validate(may_pass(problem), text);
    log::warning(text);
  });
  for (const std::string& notice : config_.notices) {
    log::info(notice);
  }
}

void TrainingRun::open_data() {
  comm::all_or_config_error(ranks(), [&] {
    data_.emplace(config_.data, config_.model.spec.facts().vocab_size,
                  config_.training.global_batch_size, config_.training.seed);
    data_->check_tokens(0, config_.training.steps, runtime_.size(), runtime_.rank());
  });
  data_text_ = data_->manifest();
  comm::require_same_facts(
      world(), runtime_.rank(), data_facts(data_text_),
      {"ranks would take parts of different batches", "the same files on all nodes"});
}

void TrainingRun::make_sharded_model() {
  fsdp::FullyShardOptions options = config::fsdp_options(config_);
  if (!config_.model.init_from.empty()) {
    // A checkpoint or the folder's weights will fill them, and which of the two is not known yet.
    options.load = [](const std::string&, std::int64_t, const Tensor& out) { out.fill_zero(); };
  }
  model_.emplace(fsdp::fully_shard(config::make_model(config_), comms_, std::move(options)));
}

/// A run from step 0 beside the checkpoints of another would mix the two: the next resume takes the
/// highest step, whoever's it is.
void TrainingRun::refuse_to_overwrite() {
  const auto& folder = config_.fsdp_config.checkpoint_dir;
  if (config_.checkpoint.resume != config::CheckpointConfig::Resume::never ||
      runtime_.rank() != 0 || !std::filesystem::is_directory(folder)) {
    return;
  }
  for (const io::CheckpointInfo& info : io::list_checkpoints(folder)) {
    validate(!info.committed,
             fmt::format("{} holds {} and checkpoint.resume is never (the checkpoints of two runs "
                         "would mix). Try: another checkpoint_dir, or checkpoint.resume=auto",
                         folder.string(), info.path.filename().string()));
  }
}

Progress TrainingRun::progress() const {
  return {.step = step_,
          .optimizer_steps = optimizer_->step_count(),
          .loss_scale = scaler_ ? scaler_->scale() : 0.0,
          .good_steps = scaler_ ? scaler_->good_steps() : 0,
          .optimizer = std::string(optimizer_->name()),
          .global_batch_size = config_.training.global_batch_size,
          .sequence_length = config_.data.sequence_length,
          .seed = config_.training.seed};
}

void TrainingRun::open_outputs() {
  std::string config_text = config_.resolved_json;
  comm::broadcast_text(ranks(), config_text);  // where ranks may differ, the first one's is stored
  state_.common["config"] = std::move(config_text);
  state_.common["data"] = data_text_;
  memory_ = model_->memory();
  memory_.optimizer_state = optimizer_->state_bytes();
  comm::all_or_config_error(ranks(), [&] {
    if (runtime_.rank() == 0) {
      metrics_.emplace(config_.logging.directory / "metrics.jsonl", step_ + 1);
      ConsoleOptions options = console_options_for_stdout();
      options.first_step = step_ + 1;
      options.last_step = config_.training.steps;
      options.interval = config_.logging.interval;
      console_.emplace(std::move(options));
    }
  });
}

}  // namespace sherd::train
