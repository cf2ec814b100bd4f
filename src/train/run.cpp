// TrainingRun: the steps and the end.
#include "train/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "sherd/autograd/functional.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"
#include "sherd/train/trainer.hpp"
#include "train/test_divergence.hpp"

namespace sherd::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// For tests: SHERD_TEST_THROW=rank:step makes that rank fail in the forward of that step.
void throw_if_told(int rank, std::int64_t step) {
  const char* told = std::getenv("SHERD_TEST_THROW");
  if (told != nullptr && fmt::format("{}:{}", rank, step) == told) {
    throw Error(
        fmt::format("forward of step {} failed (SHERD_TEST_THROW={} asked for it)", step, told));
  }
}

const char* to_text(io::SavePhase phase) {
  switch (phase) {
    case io::SavePhase::staging:
      return "staging";
    case io::SavePhase::staged:
      return "writing";
    case io::SavePhase::written:
      return "syncing";
    case io::SavePhase::durable:
      return "committing";
    case io::SavePhase::committed:
      return "saved";
    case io::SavePhase::failed:
      return "failed";
  }
  return "";
}

std::string describe(const std::optional<fsdp::NonFinite>& found) {
  if (!found) {
    return "";
  }
  const std::string whose =
      found->rank >= 0 ? fmt::format("from rank {}", found->rank) : "in a sum of finite values";
  return fmt::format("; the first bad gradient is {}[{}], {}, micro-batch {}", found->parameter,
                     found->index, whose, found->micro_batch);
}

CheckpointMetrics describe(const io::SaveTicket& last) {
  CheckpointMetrics metrics;
  if (last.valid()) {
    const io::SaveProgress progress = last.progress();
    metrics.step = last.step();
    metrics.phase = to_text(last.phase());
    metrics.bytes_total = progress.bytes_total;
    metrics.bytes_written = progress.bytes_written;
    metrics.bytes_per_second = progress.bytes_per_second;
    metrics.seconds_left = progress.seconds_left;
  }
  return metrics;
}

}  // namespace

/// An update must not overtake the save that still copies what it changes.
void TrainingRun::wait_for_staging(std::size_t shard) {
  const io::SaveTicket last = checkpointer_->last();
  if (!last.valid()) {
    return;
  }
  const double before = last.stall_seconds();
  last.wait_staged(static_cast<int>(shard));
  update_stall_ += last.stall_seconds() - before;
}

int TrainingRun::run() {
  while (step_ < config_.training.steps && !stopped_) {
    const StepMetrics metrics = do_step();
    if (runtime_.rank() == 0) {
      metrics_->write(metrics);
      console_->step(metrics, checkpoint_text());
    }
  }
  return finish();
}

/// The loss of every micro-batch; a device may still be computing them.
std::vector<Tensor> TrainingRun::forward_backward() {
  const std::int64_t sequences = config_.training.global_batch_size;
  const data::SequenceRange share = data::rank_share(sequences, runtime_.size(), runtime_.rank());
  const std::int64_t micro = config_.training.micro_batch_size;
  const Divergence told = told_to_diverge(runtime_.rank(), step_ + 1);
  const std::int64_t most = data::rank_share(sequences, runtime_.size(), 0).count +
                            (told == Divergence::extra_micro_batch ? micro : 0);
  const double weight = told == Divergence::nan
                            ? std::numeric_limits<double>::quiet_NaN()
                            : 1.0 / static_cast<double>(sequences * config_.data.sequence_length);
  std::vector<Tensor> losses;
  // Every rank makes as many forwards as the one with most sequences; some of them empty.
  for (std::int64_t done = 0; done < most; done += micro) {
    const std::int64_t count = std::clamp<std::int64_t>(share.count - done, 0, micro);
    const data::Batch batch =
        data_->batch(step_, {share.first + std::min(done, share.count), count});
    throw_if_told(runtime_.rank(), step_ + 1);
    const autograd::Variable tokens(batch.tokens);
    // The logits are held by the loss alone, so that their gradient can take their place.
    const autograd::Variable loss = autograd::cross_entropy(
        told == Divergence::skip_layer ? forward_without_a_layer(*model_, tokens)
                                       : (*model_)(tokens),
        batch.targets, weight * loss_scale());
    losses.push_back(loss.data());
    model_->set_is_last_backward(done + micro >= most);
    model_->backward(loss);
  }
  return losses;
}

StepMetrics TrainingRun::do_step() {
  const Clock::time_point start = Clock::now();
  optimizer_->zero_grad();
  model_->set_loss_scale(loss_scale());
  fsdp::StepValues values;
  values.losses = forward_backward();
  values.flag = stop_.requested() ? 1.0 : 0.0;
  const double norm =
      model_->clip_grad_norm(config_.training.max_grad_norm, &values, config_.training.norm_type);
  const double rate = config_.schedule().at(step_);
  update(values.loss, norm, rate);
  ++step_;
  stopped_ = values.flag > 0.0;
  StepMetrics metrics{step_, values.loss, norm, rate, 0.0, 0.0, memory_kinds(), 0.0, {}};
  if (save_is_due()) {
    metrics.checkpoint_stall_seconds = save();
  }
  metrics.checkpoint_stall_seconds += std::exchange(update_stall_, 0.0);
  metrics.checkpoint = describe(checkpointer_->last());
  poll_checkpoints();
  metrics.step_seconds = seconds_since(start);
  metrics.tokens_per_second =
      static_cast<double>(config_.training.global_batch_size * config_.data.sequence_length) /
      metrics.step_seconds;
  return metrics;
}

/// Takes the optimizer's step unless gradients are not finite: then fp16 leaves it out and lowers
/// its scale while it can; anything else ends the run with the weights as they are.
void TrainingRun::update(double loss, double norm, double rate) {
  const bool finite = std::isfinite(loss) && std::isfinite(norm);
  const bool can_fall =
      scaler_ && std::isfinite(loss) && scaler_->scale() > scaler_->options().minimum_scale;
  if (!finite && !can_fall) {
    throw ConfigError(fmt::format(
        "step {}: loss {} and gradient norm {} (the update would destroy the weights; nothing was "
        "changed{}). Try: a lower optimizer.learning_rate, or training.max_grad_norm=1.0",
        step_ + 1, loss, norm, describe(model_->non_finite())));
  }
  if (scaler_ && !scaler_->update(finite)) {
    say(fmt::format("step {} left out: gradients overflowed fp16; loss scale is {} now", step_ + 1,
                    scaler_->scale()));
    ++left_out_;
    return;
  }
  ++updates_;
  optimizer_->set_learning_rate(rate);
  optimizer_->step();
}

bool TrainingRun::save_is_due() const {
  const std::int64_t interval = config_.fsdp_config.checkpoint_interval;
  return (interval > 0 && step_ % interval == 0) || stopped_ || step_ == config_.training.steps;
}

/// The first save then costs what the others do. Where it cannot be prepared that save says why,
/// and does what checkpoint.on_failure says.
void TrainingRun::prepare_saves() {
  state_.common["trainer"] = to_json(progress());
  try {
    checkpointer_->prepare(state_);
  } catch (const IoError& error) {  // on all ranks
    log::debug(error.what());
  }
}

void TrainingRun::start_save() {
  state_.common["trainer"] = to_json(progress());
  const bool lazy = config_.checkpoint.staging == config::CheckpointConfig::Staging::lazy;
  const io::SaveTicket ticket =
      lazy ? checkpointer_->save_lazily(step_, state_) : checkpointer_->save_async(step_, state_);
  if (ticket.valid()) {  // invalid: skipped, the last is in flight
    saved_step_ = step_;
  }
}

double TrainingRun::save() {
  const Clock::time_point start = Clock::now();
  if (config_.checkpoint.overlap == io::Overlap::wait) {
    settle_last_save();
  }
  tolerate_failed_save([&] { start_save(); });
  return seconds_since(start);
}

/// Waits for the save in flight. Its failure is told here, on every rank, rather than by the next
/// save_async in the place of a save.
void TrainingRun::settle_last_save() {
  const io::SaveTicket last = checkpointer_->last();
  if (last.valid() && last.phase() != io::SavePhase::failed) {
    tolerate_failed_save([&] { last.wait(); });
  }
  poll_checkpoints();
}

void TrainingRun::poll_checkpoints() {
  tolerate_failed_save([&] { checkpointer_->poll(); });
}

/// Training goes on without a checkpoint when checkpoint.on_failure says so. Rank 0 hears of every
/// rank's failure and is the one to tell.
void TrainingRun::tolerate_failed_save(const std::function<void()>& work) {
  try {
    work();
  } catch (const IoError& error) {
    if (config_.checkpoint.on_failure == config::CheckpointConfig::OnFailure::stop) {
      throw;
    }
    if (runtime_.rank() == 0) {
      say(fmt::format("a checkpoint failed, training goes on: {}", error.what()));
    }
  }
}

/// The state of the last step is saved, or the run fails.
void TrainingRun::finish_saves() {
  const io::SaveTicket last = checkpointer_->last();
  if (last.valid() && last.step() == step_) {
    last.wait();
  } else {
    settle_last_save();
  }
  if (step_ != saved_step_) {  // left out by overlap: skip, or it could not begin
    start_save();
    checkpointer_->last().wait();
  }
}

/// Says so where all updates of a run, or of its last part, were left out: its weights are those it
/// began with, and who only looks at the exit code would take them for trained ones.
bool TrainingRun::nothing_learnt() {
  const std::int64_t all = step_ - optimizer_->step_count();
  const bool none_ever = step_ > 0 && all == step_;
  const bool none_now = updates_ == 0 && left_out_ > 1;  // one alone is how a scale is found
  if (!none_ever && !none_now) {
    return false;
  }
  if (runtime_.rank() == 0) {
    log::error(fmt::format(
        "all {} updates were left out, as their gradients overflowed fp16 (the weights are those "
        "it began with; the loss scale is {} by now and saved with step {}). Try: more "
        "training.steps, or from the beginning with a lower fsdp_config.initial_loss_scale or "
        "fsdp_config.fp16=false",
        none_ever ? all : left_out_, loss_scale(), saved_step_));
  }
  return true;
}

int TrainingRun::finish() {
  finish_saves();
  if (console_) {
    console_->finish();
  }
  if (stopped_ && step_ < config_.training.steps) {
    say(fmt::format("stopped by signal after step {}, saved; run the same command to go on",
                    step_));
    return kStoppedEarly;
  }
  if (nothing_learnt()) {
    return kNothingLearnt;
  }
  say(fmt::format("done: {} steps, last checkpoint of step {} in {}", step_, saved_step_,
                  config_.fsdp_config.checkpoint_dir.string()));
  return 0;
}

std::string TrainingRun::checkpoint_text() const {
  const io::SaveTicket last = checkpointer_->last();
  if (!last.valid()) {
    return "";
  }
  const io::SavePhase phase = last.phase();
  std::string text = fmt::format("step {} {}", last.step(), to_text(phase));
  if (phase == io::SavePhase::staging || phase == io::SavePhase::staged) {
    const io::SaveProgress progress = last.progress();
    text += fmt::format(" {:.0f}% {:.2f} GB/s {:.0f} s left",
                        100.0 * static_cast<double>(progress.bytes_written) /
                            static_cast<double>(std::max<std::uint64_t>(1, progress.bytes_total)),
                        progress.bytes_per_second * 1e-9, progress.seconds_left);
  }
  return text;
}

std::map<std::string, std::uint64_t> TrainingRun::memory_kinds() const {
  const auto kinds = fsdp::by_kind(memory_);
  return {kinds.begin(), kinds.end()};
}

int run_training(runtime::Runtime& runtime, const config::TrainConfig& config) {
  return TrainingRun(runtime, config).run();
}

}  // namespace sherd::train
