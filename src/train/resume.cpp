// TrainingRun: what it goes on from, and whether that is the same run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/config/comparison.hpp"
#include "train/run.hpp"
#include "train/stored_run.hpp"

namespace sherd::train {
namespace {

/// What changes nothing but the course.
std::vector<std::string> notes_unless_refused(const std::string& stored,
                                              const config::TrainConfig& config) {
  config::StoredDifferences differences = config::differences_from_stored(stored, config);
  if (!differences.refused.empty()) {
    throw ConfigError(fmt::format("{}", fmt::join(differences.refused, "\n")));
  }
  return std::move(differences.noted);
}

}  // namespace

/// Before anything is made: a resume that will be refused should not cost hours of reading, and one
/// that will not be needs no other weights than its checkpoint's.
void TrainingRun::look_for_stored_run() {
  StoredRun found;
  comm::all_or_config_error(ranks(), [&] {
    if (runtime_.rank() != 0) {
      return;
    }
    if (config_.checkpoint.resume != config::CheckpointConfig::Resume::never) {
      found = find_stored_run(config_.fsdp_config.checkpoint_dir);
    }
    if (!found.maybe && !config_.checkpoint.load_from.empty()) {
      found = find_given_run(config_.checkpoint.load_from);
    }
  });
  comm::broadcast_text(ranks(), found.config);
  (void)notes_unless_refused(found.config, config_);
  std::string maybe = found.maybe ? "yes" : "";
  comm::broadcast_text(ranks(), maybe);
  may_resume_ = !maybe.empty();
}

/// Collective. From the run's own directory, else from checkpoint.load_from.
std::optional<io::LoadReport> TrainingRun::load_state() {
  using Resume = config::CheckpointConfig::Resume;
  if (config_.checkpoint.resume != Resume::never) {
    io::LoadOptions options;
    options.older_if_unreadable = config_.checkpoint.resume == Resume::older;
    if (auto report = checkpointer_->load_latest(state_, options)) {
      saved_step_ = report->step;
      return report;
    }
  }
  if (config_.checkpoint.load_from.empty()) {
    return std::nullopt;
  }
  std::string folder;
  comm::all_or_config_error(ranks(), [&] {
    if (runtime_.rank() == 0) {
      folder = find_given_run(config_.checkpoint.load_from).folder.string();
    }
  });
  comm::broadcast_text(ranks(), folder);
  try {
    return checkpointer_->load(folder, state_);
  } catch (const IoError& error) {  // on all ranks; nothing is set aside, the folder is another's
    throw ConfigError(fmt::format("checkpoint.load_from: {}. Try: another step", error.what()));
  }
}

bool TrainingRun::resume() {
  const auto report = load_state();
  if (!report) {
    validate(config_.checkpoint.resume != config::CheckpointConfig::Resume::must,
             fmt::format("{} holds no checkpoint (checkpoint.resume is must). Try: "
                         "checkpoint.resume=auto",
                         config_.fsdp_config.checkpoint_dir.string()));
    return false;
  }
  for (const char* text : {"trainer", "data"}) {
    validate(!state_.common[text].empty(),
             fmt::format("{} holds no text '{}' (it is no checkpoint of sherd train). Try: another "
                         "folder",
                         report->path.string(), text));
  }
  const Progress saved = parse_progress(state_.common.at("trainer"));
  const std::vector<std::string> changes = notes_unless_refused(state_.common["config"], config_);
  check_continues(saved, progress());
  data_->check_manifest(state_.common.at("data"));
  step_ = saved.step;
  optimizer_->set_step_count(saved.optimizer_steps);
  if (scaler_ && saved.loss_scale > 0.0) {
    scaler_->restore(saved.loss_scale, saved.good_steps);
  }
  model_->parameters_changed();
  for (const std::string& note : report->notes) {
    say(note);
  }
  say(fmt::format("{} {} at step {}", saved_step_ > 0 ? "resumed from" : "started from",
                  report->path.string(), step_));
  for (const std::string& change : changes) {
    say(change);
  }
  return true;
}

}  // namespace sherd::train
